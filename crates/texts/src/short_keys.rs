//! Short keys of a link; each stands for several keys of a cell or a Wi-Fi channel.
//!
//! Short keys apply after the preset and change its keys: `speed = "120 km/h"` sets the Doppler
//! shift and the speed of shadowing, and `bandwidth = "60 MHz"` sets the width of the carrier. The
//! result is the same as with the long keys.

use serde_json::{Map, Value, json};

use crate::check::known;
use crate::keys::{CELL_PATH, WIFI_PATH};
use crate::merge::merged;
use crate::parts::{has, medium};
use crate::problem::{Place, Problem};
use crate::quantity::{DECIBEL, DURATION, FREQUENCY, SIZE};
use crate::queue::FULL_PACKET_BYTES;
use crate::table::{Form, Table};

/// Keys of a link that stand for several keys of a cell or a Wi-Fi channel.
pub(crate) const SHORT_KEYS: [&str; 8] =
    ["bandwidth", "layers", "mcs", "users", "coverage", "speed", "handover", "drx"];

type Change = fn(&Value, &Value) -> Result<Value, String>;

const OF_CELL: [(&str, Change); 9] = [
    ("bandwidth", cell_bandwidth),
    ("layers", cell_layers),
    ("mcs", cell_mcs),
    ("users", |_, users| Ok(json!({"users": users}))),
    ("coverage", cell_coverage),
    ("speed", cell_speed),
    ("handover", cell_handover),
    ("drx", cell_drx),
    ("police", cell_police),
];

const OF_WIFI: [(&str, Change); 4] = [
    ("bandwidth", |_, text| Ok(json!({"channel": text}))),
    ("layers", |_, layers| Ok(json!({"spatial_streams": layers}))),
    ("mcs", |_, index| Ok(json!({"rate_control": {"kind": "fixed", "index": index}}))),
    ("users", |_, users| Ok(json!({"stations": users}))),
];

/// Expands the short keys of a checked link into their tables.
pub(crate) fn spelt_out(link: &Value, place: &Place) -> Result<Value, Problem> {
    let mut given: Vec<&str> = SHORT_KEYS.into_iter().filter(|key| has(link, key)).collect();
    let medium = medium(link);
    if medium == Some("cell") && has(link, "police") {
        given.push("police");
    }
    let Some(first) = given.first() else { return Ok(link.clone()) };
    let Some(medium) = medium else {
        let message = "this is a key of cells and Wi-Fi channels, but this link is a wire";
        return Err(Problem::new(&place.key(first), message));
    };
    let (changes, table, what): (&[(&str, Change)], &'static Table, &str) = match medium {
        "cell" => (&OF_CELL, &CELL_PATH, "cell"),
        _ => (&OF_WIFI, &WIFI_PATH, "Wi-Fi channel"),
    };
    let mut whole = link.as_object().cloned().unwrap_or_default();
    let mut inner = link[medium].clone();
    for key in given {
        let fail = |message: String| Problem::new(&place.key(key), message);
        let Some((_, change)) = changes.iter().find(|(name, _)| *name == key) else {
            let known: Vec<&str> = changes.iter().map(|&(name, _)| name).collect();
            return Err(fail(format!(
                "a {what} does not have this key; its short keys are {}",
                known.join(", ")
            )));
        };
        let change = change(&inner, &link[key]).map_err(fail)?;
        let mut problems = Vec::new();
        let change = crate::check::checked_table(table, &change, place, &mut problems);
        if let Some(problem) = problems.pop() {
            return Err(fail(problem.message));
        }
        inner = merged(&Form::Table(table), &inner, &change);
        whole.remove(key);
    }
    whole.insert(medium.to_owned(), inner);
    Ok(Value::Object(whole))
}

fn cell_police(_: &Value, police: &Value) -> Result<Value, String> {
    let burst_bytes = known(&SIZE, police.get("burst")).unwrap_or_default().unsigned_abs();
    if burst_bytes < FULL_PACKET_BYTES {
        let packet = format!("a packet of {FULL_PACKET_BYTES} bytes would never pass the policer");
        return Err(format!("the burst is too small: {packet}; write at least this size"));
    }
    Ok(json!({"police": police}))
}

fn radio(cell: &Value) -> &str {
    cell["radio"]["kind"].as_str().unwrap_or_default()
}

fn cell_bandwidth(cell: &Value, text: &Value) -> Result<Value, String> {
    match radio(cell) {
        "nr" => Ok(json!({"radio": {"bandwidth": text}})),
        "lte" => {
            let blocks = RESOURCE_BLOCKS.iter().find(|(width, _)| text == width);
            let widths: Vec<&str> = RESOURCE_BLOCKS.iter().map(|&(width, _)| width).collect();
            let (_, blocks) = blocks.ok_or_else(|| {
                format!(
                    "LTE has no carrier of this \
                bandwidth; write {}",
                    widths.join(", ")
                )
            })?;
            Ok(json!({"radio": {"resource_blocks": blocks}}))
        }
        _ => Err("all carriers of UMTS have a bandwidth of 5 MHz; remove this key".to_owned()),
    }
}

fn cell_layers(cell: &Value, layers: &Value) -> Result<Value, String> {
    match radio(cell) {
        "nr" => Ok(json!({"radio": {"downlink_layers": layers}})),
        "lte" => Ok(json!({"radio": {"layers": layers}})),
        _ => Err("cwndlab models UMTS with one spatial layer; remove this key".to_owned()),
    }
}

/// Sets the same modulation and coding scheme in both directions; in UMTS, only HSDPA has several
/// schemes.
fn cell_mcs(cell: &Value, scheme: &Value) -> Result<Value, String> {
    let fixed = json!({"adaptation": {"kind": "fixed", "scheme": scheme}});
    match (radio(cell), cell["radio"]["downlink"]["kind"].as_str()) {
        ("umts", Some("hsdpa")) => Ok(json!({"downlink": fixed})),
        ("umts", _) => Err("a dedicated channel has only one modulation and coding scheme; \
            remove this key"
            .to_owned()),
        _ => Ok(json!({"downlink": fixed, "uplink": fixed})),
    }
}

fn one_user(cell: &Value) -> Result<&Map<String, Value>, String> {
    let one = cell["user"].as_object();
    one.ok_or_else(|| {
        "the preset describes each user separately, so this key cannot apply to \
        all; write cell.users instead"
            .to_owned()
    })
}

fn cell_coverage(cell: &Value, ratio: &Value) -> Result<Value, String> {
    let user = one_user(cell)?;
    let ratio_mdb = DECIBEL.read(ratio)?;
    let (down, up) = (known(&DECIBEL, user.get("downlink")), known(&DECIBEL, user.get("uplink")));
    let (Some(down_mdb), Some(up_mdb)) = (down, up) else {
        return Err(
            "the preset has no signal to interference and noise ratios that this key could \
             change; write cell.user instead"
                .to_owned(),
        );
    };
    let uplink = DECIBEL.format(up_mdb + ratio_mdb - down_mdb);
    Ok(json!({"user": {"downlink": DECIBEL.format(ratio_mdb), "uplink": uplink}}))
}

/// Sets the Doppler shift, and shadowing that is as long in metres as for a pedestrian.
fn cell_speed(cell: &Value, text: &Value) -> Result<Value, String> {
    let user = one_user(cell)?;
    let speed_mm_s = speed_mm_s(text.as_str().unwrap_or_default())?;
    let carrier = CARRIERS.iter().find(|(kind, _)| *kind == radio(cell)).unwrap_or(&CARRIERS[1]);
    let doppler_mhz = round(speed_mm_s * carrier.1 / LIGHT_M_S).max(1);
    if user.get("fading").is_none_or(Value::is_null) {
        let message = "the preset has no fading that the speed could change; write \
            cell.user.fading instead";
        return Err(message.to_owned());
    }
    let mut change = json!({"fading": {"doppler": FREQUENCY.format(doppler_mhz)}});
    let drifts = user.get("drifts").and_then(Value::as_array).filter(|all| !all.is_empty());
    if let Some(drifts) = drifts {
        let slower = |drift: &Value| {
            let walk_ns = known(&DURATION, drift.get("correlation")).unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "a time that is shorter than a day")]
            let correlation_ns = round(walk_ns as f64 * WALK_MM_S / speed_mm_s);
            json!({"sigma": drift["sigma"], "correlation": DURATION.format(correlation_ns)})
        };
        change["drifts"] = drifts.iter().map(slower).collect();
    }
    Ok(json!({"user": change}))
}

/// Rounds to the nearest integer, ties to even.
#[expect(clippy::cast_possible_truncation, reason = "speeds are at most 10 km/s")]
fn round(value: f64) -> i64 {
    value.round_ties_even() as i64
}

/// Parses a speed with at most four digits before and three after the decimal point.
fn speed_mm_s(text: &str) -> Result<f64, String> {
    let fail = || "not a speed above 0; write for example \"120 km/h\", \"1.4 m/s\"".to_owned();
    let (number, unit) = text.trim().split_once(' ').ok_or_else(fail)?;
    let factor = match unit {
        "km/h" => 1000.0 / 3.6,
        "m/s" => 1000.0,
        _ => return Err(fail()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_digits(whole, 4) || !is_digits(fraction, 3) {
        return Err(fail());
    }
    let speed: f64 = number.parse().map_err(|_| fail())?;
    if speed > 0.0 { Ok(speed * factor) } else { Err(fail()) }
}

/// Parses a handover such as `every 30 s, 40 ms`: the interval, then the interruption.
fn cell_handover(_: &Value, text: &Value) -> Result<Value, String> {
    let (interval, interruption) =
        two_times(text, "every ", "write for example \"every 30 s, 40 ms\"")?;
    let handover = json!({"interval": interval, "interruption": interruption, "is_lossless": true});
    Ok(json!({"handover": handover}))
}

/// Parses a DRX setting such as `after 100 ms, every 40 ms`: the time without traffic, then the
/// DRX cycle. Users without traffic stay connected.
fn cell_drx(cell: &Value, text: &Value) -> Result<Value, String> {
    let (after, cycle) =
        two_times(text, "after ", "write for example \"after 100 ms, every 40 ms\"")?;
    let mut rrc = json!({"drx_after": after, "drx_cycle": cycle});
    for (key, usual) in CONNECTED {
        if cell["rrc"].get(key).is_none() {
            rrc[key] = Value::from(usual);
        }
    }
    Ok(json!({"rrc": rrc}))
}

fn two_times(text: &Value, begin: &str, remedy: &str) -> Result<(String, String), String> {
    let text = text.as_str().unwrap_or_default();
    let times = text.split_once(',').and_then(|(first, second)| {
        let first = first.strip_prefix(begin)?.trim();
        let second = second.trim();
        Some((first, second.strip_prefix("every ").unwrap_or(second).trim()))
    });
    let (first, second) = times.ok_or_else(|| format!("this key needs two times; {remedy}"))?;
    DURATION.parse(first)?;
    DURATION.parse(second)?;
    Ok((first.to_owned(), second.to_owned()))
}

/// Bandwidths of LTE and their numbers of resource blocks, 3GPP TS 36.101 table 5.6-1.
const RESOURCE_BLOCKS: [(&str, u32); 6] =
    [("1.4 MHz", 6), ("3 MHz", 15), ("5 MHz", 25), ("10 MHz", 50), ("15 MHz", 75), ("20 MHz", 100)];

/// Carrier frequencies of the presets in hertz: for each technology, the band that most networks
/// use.
const CARRIERS: [(&str, f64); 3] = [("umts", 2.1e9), ("lte", 2.6e9), ("nr", 3.5e9)];

const LIGHT_M_S: f64 = 299_792_458.0;

/// 3 km/h, the speed for which the presets' shadowing is specified.
const WALK_MM_S: f64 = 833.0;

/// Settings that keep users without traffic connected.
const CONNECTED: [(&str, &str); 4] = [
    ("inactivity", "24 h"),
    ("promotion_least", "0 s"),
    ("promotion_most", "0 s"),
    ("paging_cycle", "1280 ms"),
];
