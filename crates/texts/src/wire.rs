//! A wire of a path: its rate, its queue and its impairments in the scenario's form.

use serde_json::{Map, Value, json};

use crate::check::known;
use crate::convert::{scenario_key, scenario_table};
use crate::files::{Files, PacketTrains, Told, Way};
use crate::keys::LINK_STAGE;
use crate::parts::has;
use crate::problem::{Place, Problem};
use crate::quantity::{DURATION, QueueLimit, RATE, SIZE, UNLIMITED};
use crate::queue::{FULL_PACKET_BYTES, Product};
use crate::table::{Form, MOST_COUNT};

/// The checked keys of a wire and their place in the document.
#[derive(Debug)]
pub(crate) struct Wire<'a> {
    pub(crate) table: &'a Value,
    pub(crate) place: Place,
    pub(crate) way: Way,
}

/// The rate of a wire.
struct Speed {
    /// The rate in the scenario's form.
    rate: Value,
    /// The rate in bits per second, or the mean rate of a trace; `None` if the rate is unlimited.
    bits_per_sec: Option<u64>,
    framing_bytes: u64,
    is_trace: bool,
}

/// Packet trains that a wire follows while the load is light.
struct Light {
    name: String,
    after_ns: u64,
    /// The part of the packet trains' delays that is propagation.
    busy_delay_ns: u64,
    /// Size of the first packet of each train, if it is smaller than the other packets.
    first_bytes: Option<u64>,
}

impl<'a> Wire<'a> {
    /// The wire at a place in the document.
    pub(crate) fn of((place, table, way): &'a (Place, Value, Way)) -> Self {
        Self { table, place: place.clone(), way: *way }
    }

    fn duration(&self, key: &str) -> Option<u64> {
        known(&DURATION, self.table.get(key)).and_then(|count| u64::try_from(count).ok())
    }

    fn size(&self, key: &str) -> Option<u64> {
        known(&SIZE, self.table.get(key)).and_then(|count| u64::try_from(count).ok())
    }

    /// The propagation delay of the wire, if the document contains it.
    pub(crate) fn delay_ns(&self) -> Option<u64> {
        self.duration("delay")
    }

    /// Whether the wire has anything besides its delay that can take time.
    pub(crate) fn takes_time(&self) -> bool {
        ["rate", "trace", "jitter"].into_iter().any(|key| has(self.table, key))
    }

    fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        Problem::new(&self.place.key(key), message)
    }

    /// The packet trains that apply while the load is light, if there are any.
    fn light(&self, files: &dyn Files) -> Result<Option<Light>, Problem> {
        let Some(told) = Told::of(self.table) else { return Ok(None) };
        let place = |key: &'static str| move |message| self.problem(key, message);
        let recording = files.recording(&told, self.way).map_err(place("trace"))?;
        let trains = match self.table.get("light_trace").and_then(Value::as_str) {
            Some(path) => Some(files.packet_trains(path).map_err(place("light_trace"))?),
            None => recording.light,
        };
        let Some(PacketTrains { name, shortest_delay_ns }) = trains else {
            return match LIGHT_KEYS.iter().find(|key| has(self.table, key)) {
                None => Ok(None),
                Some(key) => {
                    let message =
                        format!("this link has no packet trains; add light_trace, or remove {key}");
                    Err(self.problem(key, message))
                }
            };
        };
        if !recording.is_mahimahi {
            let message = "packet trains need a trace of delivery opportunities (a Mahimahi \
                trace), but this link's trace is a log of rates; remove light_trace";
            return Err(self.problem("light_trace", message));
        }
        let busy_delay_ns = self.duration("busy_delay").unwrap_or(shortest_delay_ns);
        if busy_delay_ns > shortest_delay_ns {
            let message = "the delay of the busy link is longer than the shortest base delay of \
                the packet trains; write a shorter time, or remove busy_delay";
            return Err(self.problem("busy_delay", message));
        }
        let after_ns = self.duration("light_after").unwrap_or(LIGHT_AFTER_NS);
        let first_bytes = self.size("light_first");
        if first_bytes.is_some_and(|bytes| bytes == 0 || bytes > MOST_FIRST_BYTES) {
            let message = "the first packet of a train has 1 to 1500 bytes";
            return Err(self.problem("light_first", message));
        }
        Ok(Some(Light { name, after_ns, busy_delay_ns, first_bytes }))
    }

    /// The delay of packets while its link with packet trains is sending; 0 without trains.
    pub(crate) fn busy_delay_ns(&self, files: &dyn Files) -> Result<u64, Problem> {
        Ok(self.light(files)?.map_or(0, |light| light.busy_delay_ns))
    }

    fn speed(&self, files: &dyn Files) -> Result<Speed, Problem> {
        let framing = self.size("framing");
        let framing_bytes = framing.unwrap_or(0);
        if let Some(told) = Told::of(self.table) {
            let fail = |message| self.problem("trace", message);
            let recording = files.recording(&told, self.way).map_err(fail)?;
            let bits_per_sec = Some(recording.mean_bits_per_sec);
            let name = recording.name;
            if recording.is_mahimahi {
                let framing_bytes = framing.unwrap_or(MAHIMAHI_FRAMING_BYTES);
                let mut rate = json!({"kind": "mahimahi", "path": name});
                if let Some(light) = self.light(files)? {
                    let Light { name, after_ns, busy_delay_ns, first_bytes } = light;
                    rate["light"] =
                        json!({"path": name, "after_ns": after_ns, "delay_ns": busy_delay_ns});
                    if let Some(bytes) = first_bytes {
                        rate["light"]["first_bytes"] = json!(bytes + framing_bytes);
                    }
                }
                return Ok(Speed { rate, bits_per_sec, framing_bytes, is_trace: true });
            }
            let hold = self.table.get("hold").and_then(Value::as_bool).unwrap_or(true);
            let rate = json!({"kind": "log", "path": name, "hold": hold});
            return Ok(Speed { rate, bits_per_sec, framing_bytes, is_trace: true });
        }
        let rate = known(&RATE, self.table.get("rate"));
        let bits_per_sec = rate.and_then(|rate| u64::try_from(rate).ok());
        let rate = match (bits_per_sec, self.size("burst")) {
            (None, _) => json!({"kind": "unlimited"}),
            (Some(rate), None) => json!({"kind": "fixed", "bits_per_sec": rate}),
            (Some(rate), Some(burst)) => {
                check_burst(burst, framing_bytes, &self.place.key("burst"))?;
                json!({"kind": "token_bucket", "bits_per_sec": rate, "burst_bytes": burst})
            }
        };
        Ok(Speed { rate, bits_per_sec, framing_bytes, is_trace: false })
    }

    /// The queue with its limit: packets, bytes, or none.
    fn queue(&self, speed: &Speed, rtt_ns: u64) -> Result<Value, Vec<Problem>> {
        let usual = json!({"kind": "drop_tail"});
        let aqm = self.table.get("aqm").filter(|value| !value.is_null()).unwrap_or(&usual);
        let kind = aqm["kind"].as_str().unwrap_or_default();
        let (packets, bytes) = self.limit(kind, speed, rtt_ns).map_err(|problem| vec![problem])?;
        let mut problems = Vec::new();
        let mut queue = scenario_kind(aqm, &self.place, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut put = |key: &str, count: Option<u64>| {
            if let Some(count) = count {
                queue[key] = Value::from(count);
            }
        };
        if kind == "red" {
            let full = FULL_PACKET_BYTES + speed.framing_bytes;
            put("limit_bytes", packets.map(|packets| packets * full).or(bytes));
            return Ok(queue);
        }
        put("packets", packets);
        put("bytes", bytes);
        if kind == "step" {
            let place = self.place.key("aqm").key("mark");
            let fail = |message: String| vec![Problem::new(&place, message)];
            let (packets, bytes) = match QueueLimit::read(&aqm["mark"]).map_err(fail)? {
                QueueLimit::MilliBdp(_) => {
                    return Err(fail(
                        "the threshold cannot be in BDP; write packets or bytes".to_owned(),
                    ));
                }
                limit => counted(limit),
            };
            put("mark_packets", packets);
            put("mark_bytes", bytes);
        }
        Ok(queue)
    }

    fn limit(&self, aqm: &str, speed: &Speed, rtt_ns: u64) -> Result<Counted, Problem> {
        let framing_bytes = speed.framing_bytes;
        let product =
            speed.bits_per_sec.map(|bits_per_sec| Product { bits_per_sec, rtt_ns, framing_bytes });
        let written = self.table.get("queue").filter(|value| !value.is_null());
        let limit = written.map(QueueLimit::read).transpose();
        let limit = limit.map_err(|message| self.problem("queue", message))?;
        match (limit, product) {
            (Some(QueueLimit::MilliBdp(_)), None) => {
                let message = "a link without a rate has no BDP; write packets or bytes";
                Err(self.problem("queue", message))
            }
            (Some(QueueLimit::MilliBdp(milli)), Some(product)) => {
                let packets = product.packets(milli.unsigned_abs()).max(1);
                Ok((Some(self.bounded(packets, "queue")?), None))
            }
            (Some(limit), _) => Ok(counted(limit)),
            (None, None) => Ok((None, None)),
            (None, Some(product)) => match aqm {
                "drop_tail" => {
                    let key = if speed.is_trace { "trace" } else { "rate" };
                    let packets = product.default_packets(speed.is_trace);
                    Ok((Some(self.bounded(packets, key)?), None))
                }
                "fq_codel" => Ok((Some(FQ_CODEL_PACKETS), None)),
                "dualpi2" => Ok((Some(DUAL_PI2_PACKETS), None)),
                _ => Ok((Some(AQM_PACKETS), None)),
            },
        }
    }

    /// Checks that its queue can filter ACKs, and that its packets can be reordered as written.
    fn check_order(&self, stage: &Value, delay_ns: u64) -> Result<(), Problem> {
        let aqm = self.table["aqm"]["kind"].as_str().unwrap_or("drop_tail");
        if !stage["ack_filter"].is_null() && !FILTERS_ACKS.contains(&aqm) {
            let known = FILTERS_ACKS.join(", ");
            let message = format!(
                "ack_filter works with an aqm of {known}, but the aqm of this \
                link is \"{aqm}\""
            );
            return Err(self.problem("ack_filter", message));
        }
        let message = match stage["reorder"]["kind"].as_str() {
            None => return Ok(()),
            Some(_) if stage["transition"] == "keep" => {
                "reorder and transition = \"keep\" both determine the order of packets; remove \
                 one of them"
            }
            Some("early") if delay_ns == 0 => {
                "early reordering skips the delay of packets, but this link has no delay; add a \
                 delay"
            }
            Some("jitter") if stage["jitter"].is_null() => {
                "reorder = \"jitter\" needs jitter that changes the order of packets; add for \
                 example jitter = \"2 ms\""
            }
            Some(_) => return Ok(()),
        };
        Err(self.problem("reorder", message))
    }

    fn bounded(&self, packets: u128, key: &str) -> Result<u64, Problem> {
        match u64::try_from(packets) {
            Ok(packets) if packets <= MOST_COUNT.unsigned_abs() => Ok(packets),
            _ => {
                let packets = thousands(packets);
                let most = thousands(MOST_COUNT.unsigned_abs().into());
                let message = format!(
                    "a queue of {packets} packets is too large; write at most {most} \
                        packets"
                );
                Err(self.problem(key, format!("{message}, or \"{UNLIMITED}\"")))
            }
        }
    }
}

type Counted = (Option<u64>, Option<u64>);

/// A limit in packets and bytes, of which at most one is set.
fn counted(limit: QueueLimit) -> Counted {
    match limit {
        QueueLimit::Packets(packets) => (Some(packets.into()), None),
        QueueLimit::Bytes(bytes) => (None, Some(bytes.unsigned_abs())),
        QueueLimit::MilliBdp(_) | QueueLimit::Unlimited => (None, None),
    }
}

/// Converts a wire to a stage of the scenario; adds the delay of its packet trains to `delay_ns`.
pub(crate) fn stage(
    wire: &Wire<'_>,
    delay_ns: u64,
    rtt_ns: u64,
    files: &dyn Files,
) -> Result<Value, Vec<Problem>> {
    let speed = wire.speed(files).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let mut stage = scenario_table(&LINK_STAGE, wire.table, &wire.place, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Some(burst) = stage["police"]["burst_bytes"].as_u64() {
        let place = wire.place.key("police").key("burst");
        check_burst(burst, speed.framing_bytes, &place).map_err(|problem| vec![problem])?;
    }
    check_outages(&stage["outages"], &wire.place).map_err(|problem| vec![problem])?;
    wire.check_order(&stage, delay_ns).map_err(|problem| vec![problem])?;
    stage["queue"] = wire.queue(&speed, rtt_ns)?;
    stage["rate"] = speed.rate;
    stage["delay_ns"] = Value::from(delay_ns);
    stage["framing_bytes"] = Value::from(speed.framing_bytes);
    let busy_delay_ns = wire.busy_delay_ns(files).map_err(|problem| vec![problem])?;
    farther(&mut stage, busy_delay_ns).ok_or_else(|| vec![wire.problem("delay", TOO_LONG)])?;
    if let Some(keys) = stage.as_object_mut() {
        keys.retain(|_, value| !value.is_null());
    }
    Ok(stage)
}

/// Adds the server's delay to a stage, also to the delays in its schedule.
pub(crate) fn farther(stage: &mut Value, server_ns: u64) -> Option<()> {
    let add = |value: &mut Value| -> Option<()> {
        *value = Value::from(total(&[value.as_u64()?, server_ns])?);
        Some(())
    };
    add(&mut stage["delay_ns"])?;
    for step in stage["schedule"].as_array_mut().into_iter().flatten() {
        if let Some(delay_ns) = step.get_mut("delay_ns") {
            add(delay_ns)?;
        }
    }
    Some(())
}

/// The sum of delays, if the scenario's type can hold it.
pub(crate) fn total(delays_ns: &[u64]) -> Option<u64> {
    let sum = delays_ns.iter().try_fold(0_u64, |sum, delay| sum.checked_add(*delay))?;
    i64::try_from(sum).is_ok().then_some(sum)
}

fn check_burst(burst_bytes: u64, framing_bytes: u64, place: &Place) -> Result<(), Problem> {
    let packet_bytes = FULL_PACKET_BYTES + framing_bytes;
    if burst_bytes >= packet_bytes {
        return Ok(());
    }
    let message = format!(
        "the burst is too small: a packet of {packet_bytes} bytes would never pass; write at \
         least this size"
    );
    Err(Problem::new(place, message))
}

fn check_outages(outages: &Value, place: &Place) -> Result<(), Problem> {
    for (n, outage) in outages.as_array().into_iter().flatten().enumerate() {
        if outage["stop_ns"].as_u64() <= outage["start_ns"].as_u64() {
            let place = place.key("outages").item(n).key("stop");
            return Err(Problem::new(&place, "the outage does not end after its start"));
        }
    }
    Ok(())
}

/// A queue's discipline in the scenario's form, without its limit.
fn scenario_kind(aqm: &Value, place: &Place, problems: &mut Vec<Problem>) -> Value {
    let key = LINK_STAGE.key("aqm").expect("every wire has this key");
    let Form::Kinds(kinds, _) = key.form else { return Value::Object(Map::new()) };
    let kind = aqm["kind"].as_str();
    let place = place.key(key.name);
    match kinds.iter().find(|table| kind.is_some() && table.kind == kind) {
        Some(table) => {
            for key in table.keys.iter().filter(|key| key.si.is_empty()) {
                scenario_key(key, aqm, &place, problems); // reports missing keys
            }
            scenario_table(table, aqm, &place, problems)
        }
        None => {
            let message = "this key is needed here and is missing: the name of the queue \
                management";
            problems.push(Problem::new(&place.key("kind"), message));
            Value::Null
        }
    }
}

fn thousands(count: u128) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) const TOO_LONG: &str = "the sum of the delays exceeds 292 years";
const FILTERS_ACKS: [&str; 4] = ["drop_tail", "codel", "fq_codel", "dualpi2"];
const LIGHT_AFTER_NS: u64 = 10_000_000;

/// Keys that apply to packet trains.
const LIGHT_KEYS: [&str; 3] = ["light_after", "busy_delay", "light_first"];

const MOST_FIRST_BYTES: u64 = 1500;
const MAHIMAHI_FRAMING_BYTES: u64 = 4; // the packet-information header of its TUN device
const AQM_PACKETS: u64 = 1000; // Linux's codel qdisc; high, to leave drops to the AQM
const FQ_CODEL_PACKETS: u64 = 10_240; // RFC 8290 section 5.2.3
const DUAL_PI2_PACKETS: u64 = 10_000; // tc-dualpi2(8): limit
