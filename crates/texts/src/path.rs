//! The path of a scenario: both directions of a link, with defaults filled in.

use serde_json::{Value, json};

use crate::chain::{Part, chain_path, medium_path, parts, with_recorded};
use crate::check::known;
use crate::files::{Files, Told, Way};
use crate::link::lacking;
use crate::parts::{has, medium};
use crate::preset::{Expanded, expanded};
use crate::problem::{Place, Problem};
use crate::quantity::DURATION;
use crate::wire::{TOO_LONG, Wire, farther, stage, total};

/// The path that results from a link's description.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// The path in the scenario's form.
    pub path: Value,
    /// Whether the reverse direction has its own rate and queue.
    pub has_reverse_link: bool,
    /// One-way delay between the link and the server.
    pub server_ns: u64,
}

type Refused<T> = Result<T, Vec<Problem>>;

/// A wire's table and its place in the document.
type Written = (Place, Value);

/// Converts both directions of a link that [`crate::checked_link`] has checked to a path.
///
/// # Errors
/// Returns an error if a key is missing or unknown, or a value is out of range; the place of each
/// problem begins with `link` or `reverse_link`.
pub fn resolve(
    link: Option<&Value>,
    reverse_link: Option<&Value>,
    files: &dyn Files,
) -> Refused<Resolved> {
    let (here, back) = (Place::of("link"), Place::of("reverse_link"));
    let link = link.ok_or_else(|| one(&here, NO_LINK))?;
    let Expanded { link, reverse_link: usual } = expanded(link, &here, files)?;
    let server_ns =
        known(&DURATION, link.get("server")).and_then(|delay| u64::try_from(delay).ok());
    let parts = parts(&link, &here, files)?;
    let is_chain = parts.iter().any(|part| part.medium().is_some());
    if is_chain || medium(&link).is_some() {
        if reverse_link.is_some() {
            let message = match medium(&link).filter(|_| !is_chain) {
                Some(kind) => format!("a {kind} defines both directions; remove the reverse link"),
                None => CHAIN_BOTH_WAYS.to_owned(),
            };
            return Err(one(&back, &message));
        }
        let path = match medium(&link).filter(|_| !is_chain) {
            Some(kind) => medium_path(kind, &link, server_ns, &here)?,
            None => chain_path(parts, server_ns, files)?,
        };
        let server_ns = server_ns.unwrap_or(0);
        return Ok(Resolved { path, has_reverse_link: true, server_ns });
    }
    let reverse_link = match reverse_link {
        None => usual,
        Some(written) => Some(one_way(written, &back, files)?),
    };
    if !parts.is_empty() {
        let reverse = reverse_wires(reverse_link, &parts, &back, files)?;
        let forward = parts.into_iter().map(|part| (part.place, part.link)).collect();
        return wires(forward, reverse, server_ns, files);
    }
    if let Some(problem) = lacking_wire(&link, &here) {
        return Err(vec![problem]);
    }
    let written = reverse_link.is_some();
    let part = Part { place: here, link, reverse: reverse_link };
    let Part { place, link, reverse } = with_recorded(part, files)?;
    let reverse = match reverse {
        Some(recorded) if !written => vec![(back, recorded)],
        reverse => reverse_wires(reverse, &[], &back, files)?,
    };
    wires(vec![(place, link)], reverse, server_ns, files)
}

fn one(place: &Place, message: &str) -> Vec<Problem> {
    vec![Problem::new(place, message)]
}

/// Adds the preset's keys to a link and expands its short keys to tables.
///
/// # Errors
/// Returns an error if the preset does not exist, or if keys of the preset and of the link exclude
/// each other.
pub fn expand(link: &Value, files: &dyn Files) -> Result<Value, Vec<Problem>> {
    expanded(link, &Place::of("link"), files).map(|both| both.link)
}

/// A link for the reverse direction, with the keys of its preset.
fn one_way(written: &Value, back: &Place, files: &dyn Files) -> Refused<Value> {
    let reverse = expanded(written, back, files)?.link;
    if let Some(kind) = medium(&reverse) {
        let message = format!(
            "a {kind} defines both directions; write it as the link, not as \
            the reverse link"
        );
        return Err(one(back, &message));
    }
    if has(&reverse, "server") {
        let message = "the delay \"server\" applies to both directions; write it in the link, \
            not in the reverse link";
        return Err(one(&back.key("server"), message));
    }
    match lacking_wire(&reverse, back) {
        Some(problem) => Err(vec![problem]),
        None => Ok(reverse),
    }
}

/// The required key that a wire still lacks after its preset was applied.
fn lacking_wire(link: &Value, place: &Place) -> Option<Problem> {
    let mut link = link.clone();
    link.as_object_mut()?.remove("preset");
    lacking(&link, place)
}

/// The wires of the uplink, if the uplink has a rate or other settings of its own.
fn reverse_wires(
    reverse_link: Option<Value>,
    forward: &[Part],
    back: &Place,
    files: &dyn Files,
) -> Refused<Vec<Written>> {
    let both_ways = forward.iter().find(|part| part.reverse.is_some());
    if let Some(part) = both_ways {
        if reverse_link.is_some() {
            let message = "\"reverse\" and a reverse link both define the other direction; \
                remove one of them";
            return Err(one(&part.place.key("reverse"), message));
        }
        let backwards = forward.iter().rev();
        return Ok(backwards.map(|part| (part.place.key("reverse"), part.back())).collect());
    }
    let Some(reverse_link) = reverse_link else { return Ok(Vec::new()) };
    let found = parts(&reverse_link, back, files)?;
    for part in &found {
        if let Some(kind) = part.medium() {
            let message = format!(
                "a {kind} defines both directions; write it as a stage of the \
                link, not of the reverse link"
            );
            return Err(one(&part.place, &message));
        }
        if part.reverse.is_some() {
            return Err(one(
                &part.place,
                "this link is already the reverse link; remove its key \
                \"reverse\"",
            ));
        }
    }
    if found.is_empty() {
        return Ok(vec![(back.clone(), reverse_link)]);
    }
    Ok(found.into_iter().map(|part| (part.place, part.link)).collect())
}

/// The path of a link that consists of wires, and whether the uplink has a rate and a queue of its
/// own.
fn wires(
    forward: Vec<Written>,
    reverse: Vec<Written>,
    server_ns: Option<u64>,
    files: &dyn Files,
) -> Refused<Resolved> {
    let here = Place::of("link");
    let nothing = json!({});
    let as_wires = |written: &'_ [Written], way| -> Vec<(Place, Value, Way)> {
        written.iter().map(|(place, table)| (place.clone(), table.clone(), way)).collect()
    };
    let (forward, written_reverse) = (as_wires(&forward, Way::Down), as_wires(&reverse, Way::Up));
    let forward: Vec<Wire<'_>> = forward.iter().map(Wire::of).collect();
    let mut reverse: Vec<Wire<'_>> = written_reverse.iter().map(Wire::of).collect();
    let has_reverse_link = !reverse.is_empty();
    if !has_reverse_link {
        reverse.push(Wire { table: &nothing, place: here.clone(), way: Way::Up });
    }
    let delays_ns = |wires: &[Wire<'_>]| -> Vec<u64> {
        wires.iter().map(|wire| wire.delay_ns().unwrap_or(0)).collect()
    };
    let busy_ns = |wires: &[Wire<'_>]| -> Refused<Vec<u64>> {
        let each = wires.iter().map(|wire| wire.busy_delay_ns(files));
        each.collect::<Result<_, _>>().map_err(|problem| vec![problem])
    };
    let (down_busy_ns, up_busy_ns) = (busy_ns(&forward)?, busy_ns(&reverse)?);
    let sum = |delays: &[u64]| total(delays).ok_or_else(|| one(&here, TOO_LONG));
    let (down_ns, mut up_ns) = (delays_ns(&forward), delays_ns(&reverse));
    if reverse.iter().all(|wire| wire.delay_ns().is_none()) {
        let is_recorded = up_busy_ns.iter().any(|&busy_ns| busy_ns > 0);
        let recorded_ns = if is_recorded { 0 } else { sum(&down_busy_ns)? };
        *up_ns.last_mut().expect("there is at least one wire") =
            sum(&[sum(&down_ns)?, recorded_ns])?;
    }
    let delays = [&down_ns, &up_ns, &down_busy_ns, &up_busy_ns];
    let rtt_ns = sum(&delays.into_iter().flatten().copied().collect::<Vec<_>>())?;
    let takes_time = rtt_ns > 0 || server_ns.is_some_and(|delay| delay > 0);
    if !takes_time && !forward.iter().chain(&reverse).any(Wire::takes_time) {
        return Err(one(&here, NO_TIME));
    }
    let stages = |wires: &[Wire<'_>], delays: &[u64]| -> Refused<Vec<Value>> {
        let each = wires.iter().zip(delays);
        each.map(|(wire, &delay_ns)| stage(wire, delay_ns, rtt_ns, files)).collect()
    };
    let (mut forward, mut reverse) = (stages(&forward, &down_ns)?, stages(&reverse, &up_ns)?);
    // The server is before the first downlink wire and after the last uplink wire.
    for stage in forward.first_mut().into_iter().chain(reverse.last_mut()) {
        farther(stage, server_ns.unwrap_or(0)).ok_or_else(|| one(&here, TOO_LONG))?;
    }
    let path = json!({"kind": "wire", "forward": forward, "reverse": reverse});
    Ok(Resolved { path, has_reverse_link, server_ns: server_ns.unwrap_or(0) })
}

impl Told {
    /// The reference to the trace of a wire, if the wire has a trace.
    pub(crate) fn of(table: &Value) -> Option<Self> {
        let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            path: text("trace")?,
            column: text("column"),
            unit: text("unit"),
            time_column: text("time_column"),
            time_unit: text("time_unit"),
        })
    }
}

const NO_LINK: &str = "the link is missing; add a [link] table with a rate or a trace";
const CHAIN_BOTH_WAYS: &str = "a chain with a cell or a Wi-Fi channel defines both directions; \
    remove the reverse link, and write the other direction of each wire as the key \"reverse\" \
    of this wire";
const NO_TIME: &str = "this link has neither a rate nor a delay: packets would take no time, and \
    the run would never end; add a rate, a trace or a delay";
