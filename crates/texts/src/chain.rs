//! A chain of wires, cells and Wi-Fi channels, in any order.

use serde_json::{Value, json};

use crate::check::known;
use crate::convert::whole_table;
use crate::files::{Files, Told, Way};
use crate::keys::{CELL_PATH, WIFI_PATH};
use crate::link::lacking;
use crate::parts::{has, medium};
use crate::preset::{Expanded, expanded};
use crate::problem::{Place, Problem};
use crate::quantity::DURATION;
use crate::wire::{TOO_LONG, Wire, farther, stage, total};

/// A link of a chain, and the place where the document describes this link.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) place: Place,
    pub(crate) link: Value,
    /// Settings of a wire's reverse direction, if the document contains them.
    pub(crate) reverse: Option<Value>,
}

type Refused<T> = Result<T, Vec<Problem>>;

impl Part {
    pub(crate) fn medium(&self) -> Option<&'static str> {
        medium(&self.link)
    }

    /// Settings of a wire's reverse direction; if they have no delay, the delay of the forward
    /// direction applies.
    pub(crate) fn back(&self) -> Value {
        let mut back = self.reverse.clone().unwrap_or_else(|| json!({}));
        if !has(&back, "delay") && has(&self.link, "delay") {
            back["delay"] = self.link["delay"].clone();
        }
        back
    }

    /// For each direction of a wire, the delay in the document, and the delay of the wire's packet
    /// trains. If the document does not describe the reverse direction, the delays of the forward
    /// direction apply to it.
    fn delays_ns(&self, files: &dyn Files) -> Refused<[[u64; 2]; 2]> {
        let delay_ns = |table: &Value| {
            let delay = known(&DURATION, table.get("delay"));
            delay.and_then(|delay| u64::try_from(delay).ok()).unwrap_or(0)
        };
        let wire = Wire { table: &self.link, place: self.place.clone(), way: Way::Down };
        let busy_ns = |wire: &Wire<'_>| wire.busy_delay_ns(files).map_err(|one| vec![one]);
        let down_ns = busy_ns(&wire)?;
        let up_ns = match &self.reverse {
            Some(table) => {
                let place = self.place.key("reverse");
                busy_ns(&Wire { table, place, way: Way::Up })?
            }
            None => down_ns,
        };
        Ok([[delay_ns(&self.link), delay_ns(&self.back())], [down_ns, up_ns]])
    }
}

/// The links of a chain, in order, after presets were expanded; empty if the link is a single
/// wire, cell or Wi-Fi channel.
pub(crate) fn parts(link: &Value, place: &Place, files: &dyn Files) -> Refused<Vec<Part>> {
    let stages = link.get("stage").and_then(Value::as_array).filter(|stages| !stages.is_empty());
    if let Some(stages) = stages {
        let each = stages.iter().enumerate();
        return each.map(|(n, stage)| part(stage, place.key("stage").item(n), files)).collect();
    }
    let wire = link.get("wire").filter(|wire| !wire.is_null());
    if medium(link).is_none() {
        if wire.is_some() {
            return Err(vec![Problem::new(&place.key("wire"), WIRE_BEFORE_WIRE)]);
        }
        return Ok(Vec::new());
    }
    let mut before = Vec::new();
    if let Some(wire) = wire {
        let reverse = wire.get("reverse").filter(|reverse| !reverse.is_null()).cloned();
        before.push(Part { place: place.key("wire"), link: wire.clone(), reverse });
    }
    if has(link, "police") {
        // A cell has its own policer, to which the link's has been moved by now.
        let link = json!({"police": link["police"]});
        before.push(Part { place: place.clone(), link, reverse: None });
    }
    if !before.is_empty() {
        before.push(Part { place: place.clone(), link: link.clone(), reverse: None });
    }
    Ok(before)
}

/// A stage of the chain with the keys of its preset added.
fn part(stage: &Value, place: Place, files: &dyn Files) -> Refused<Part> {
    let one = |key: &str, message: String| vec![Problem::new(&place.key(key), message)];
    let mut own = stage.clone();
    let reverse = own.as_object_mut().and_then(|keys| keys.remove("reverse"));
    let reverse = reverse.filter(|reverse| !reverse.is_null());
    let Expanded { link, reverse_link } = expanded(&own, &place, files)?;
    if has(&link, "stage") || has(&link, "wire") {
        let name = stage["preset"].as_str().unwrap_or_default();
        return Err(one(
            "preset",
            format!(
                "the preset {name} is a chain; write the links of this \
            chain as separate stages"
            ),
        ));
    }
    if let Some(kind) = medium(&link) {
        if has(&link, "police") {
            return Err(one("police", POLICED_MEDIUM.to_owned()));
        }
        if reverse.is_some() {
            return Err(one(
                "reverse",
                format!("a {kind} defines both directions; remove this key"),
            ));
        }
    }
    if let Some(problem) = lacking(&without_preset(&link), &place) {
        return Err(vec![problem]);
    }
    Ok(Part { place, link, reverse: reverse.or(reverse_link) })
}

/// A link whose preset has been applied.
fn without_preset(link: &Value) -> Value {
    let mut link = link.clone();
    if let Some(keys) = link.as_object_mut() {
        keys.remove("preset");
    }
    link
}

/// The path of a chain that contains a cell or a Wi-Fi channel.
pub(crate) fn chain_path(
    parts: Vec<Part>,
    server_ns: Option<u64>,
    files: &dyn Files,
) -> Refused<Value> {
    let mut recorded = Vec::new();
    for part in parts {
        recorded.push(if part.medium().is_some() { part } else { with_recorded(part, files)? });
    }
    let parts = recorded;
    let first = parts[0].place.clone();
    let mut media = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let server_ns = server_ns.filter(|_| n == 0);
        let path = |kind| medium_path(kind, &part.link, None, &part.place).map(|path| (kind, path));
        let medium = part.medium().map(path).transpose()?;
        media.push(medium.map(|(kind, path)| (kind, server_ns, path)));
    }
    let each = parts.iter().zip(&media);
    let mut delays = Vec::new();
    for (part, medium) in each {
        delays.push(match medium {
            Some((_, _, path)) => medium_delay_ns(path),
            None => total(part.delays_ns(files)?.as_flattened()),
        });
    }
    let sum = delays.into_iter().collect::<Option<Vec<u64>>>().and_then(|delays| total(&delays));
    let rtt_ns = sum.ok_or_else(|| vec![Problem::new(&first, TOO_LONG)])?;
    let mut links = Vec::new();
    for (n, (part, medium)) in parts.iter().zip(media).enumerate() {
        let server_ns = server_ns.filter(|_| n == 0);
        links.push(match medium {
            Some((kind, Some(_), _)) => medium_path(kind, &part.link, server_ns, &part.place)?,
            Some((_, None, path)) => path,
            None => wires(part, rtt_ns, server_ns, files)?,
        });
    }
    Ok(json!({"kind": "chain", "links": links}))
}

/// Both directions of a wire.
fn wires(part: &Part, rtt_ns: u64, server_ns: Option<u64>, files: &dyn Files) -> Refused<Value> {
    let [[down_ns, up_ns], [recorded_ns, _]] = part.delays_ns(files)?;
    let wire = Wire { table: &part.link, place: part.place.clone(), way: Way::Down };
    let mut forward = stage(&wire, down_ns, rtt_ns, files)?;
    let nothing = json!({});
    let table = part.reverse.as_ref().unwrap_or(&nothing);
    let wire = Wire { table, place: part.place.key("reverse"), way: Way::Up };
    let mut reverse = stage(&wire, up_ns, rtt_ns, files)?;
    if part.reverse.is_none() {
        farther(&mut reverse, recorded_ns)
            .ok_or_else(|| vec![Problem::new(&part.place, TOO_LONG)])?;
    }
    for stage in [&mut forward, &mut reverse] {
        let moved = farther(stage, server_ns.unwrap_or(0));
        moved.ok_or_else(|| vec![Problem::new(&part.place, TOO_LONG)])?;
    }
    Ok(json!({"kind": "wire", "forward": [forward], "reverse": [reverse]}))
}

/// Adds the reverse direction recorded in a folder, unless the document describes the reverse
/// direction.
pub(crate) fn with_recorded(mut part: Part, files: &dyn Files) -> Refused<Part> {
    let Some(told) = Told::of(&part.link) else { return Ok(part) };
    let place = part.place.key("trace");
    let down = files.recording(&told, Way::Down);
    let down = down.map_err(|said| vec![Problem::new(&place, said)])?;
    if down.is_of_folder && part.reverse.is_none() {
        part.reverse = Some(json!({"trace": told.path}));
    }
    Ok(part)
}

/// The path of a cell or a Wi-Fi channel; if `server_ns` is given, sets the delay to the server.
pub(crate) fn medium_path(
    kind: &'static str,
    link: &Value,
    server_ns: Option<u64>,
    place: &Place,
) -> Refused<Value> {
    let table = if kind == "cell" { &CELL_PATH } else { &WIFI_PATH };
    let mut path = whole_table(table, &link[kind], &place.key(kind))?;
    path["kind"] = Value::from(kind);
    if let Some(server_ns) = server_ns {
        if kind == "cell" {
            path["downlink"]["core_delay_ns"] = Value::from(server_ns);
            path["uplink"]["core_delay_ns"] = Value::from(server_ns);
        } else {
            path["wire_delay_ns"] = Value::from(server_ns);
        }
    }
    Ok(path)
}

/// The sum of the one-way delays of both directions of a path with a cell or a Wi-Fi channel.
fn medium_delay_ns(path: &Value) -> Option<u64> {
    let delay = |value: &Value| value.as_u64().unwrap_or(0);
    let wire_ns = delay(&path["wire_delay_ns"]);
    let ways = ["downlink", "uplink"].map(|way| delay(&path[way]["core_delay_ns"]));
    total(&[wire_ns, wire_ns, ways[0], ways[1]])
}

const WIRE_BEFORE_WIRE: &str = "this link is a wire, and only a cell or a Wi-Fi channel can have \
    the key \"wire\"; write both wires as [[link.stage]]";
const POLICED_MEDIUM: &str = "a Wi-Fi channel in a chain cannot have a policer; write the policer \
     in a separate stage before the channel";
