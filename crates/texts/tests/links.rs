//! Links as people write them, and the resulting paths.

use cwndlab_texts::{
    Files, PacketTrains, Place, PresetFile, Recording, Told, Way, checked_link, expand, figures_of,
    resolve, without_defaults,
};
use serde_json::{Value, json};

/// Two presets, and a recording from a folder.
struct Shelf;

impl Files for Shelf {
    fn preset(&self, name: &str) -> Result<PresetFile, String> {
        let text = match name {
            "wire" => WIRE,
            "cell" => CELL,
            "broken" => "title = \"b\"\n\n[link]\nrate = \"1 Mbit/s\"\ndealy = \"2 ms\"\n",
            _ => return Err(format!("unknown link \"{name}\"")),
        };
        let name = format!("{name}.toml");
        Ok(PresetFile { name, folder: "/presets".to_owned(), text: text.to_owned() })
    }

    fn recording(&self, told: &Told, way: Way) -> Result<Recording, String> {
        let shortest_delay_ns = if way == Way::Down { 3_000_000 } else { 4_000_000 };
        let is_of_folder = told.path.ends_with('/');
        let name = format!("{}:{way:?}:light", told.path);
        Ok(Recording {
            name: format!("{}:{way:?}", told.path),
            is_mahimahi: !told.path.ends_with(".log"),
            mean_bits_per_sec: 330_000_000,
            is_of_folder,
            light: is_of_folder.then_some(PacketTrains { name, shortest_delay_ns }),
        })
    }

    fn packet_trains(&self, path: &str) -> Result<PacketTrains, String> {
        Ok(PacketTrains { name: path.to_owned(), shortest_delay_ns: 7_000_000 })
    }
}

const WIRE: &str = "title = \"w\"\n[link]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
    loss = \"1 %\"\naqm = \"codel\"\n[reverse_link]\nrate = \"1 Mbit/s\"\n\
    [period.night]\nrate = \"20 Mbit/s\"\n";

const CELL: &str = r#"title = "c"
[link.cell]
radio = { kind = "lte", resource_blocks = 50, layers = 1, category = 4 }
user = { downlink = "12 dB", uplink = "9 dB", fading = { doppler = "7.2 Hz", branches = 4 } }
[link.cell.downlink]
core_delay = "8 ms"
adaptation = { kind = "fixed", scheme = 10 }
[link.cell.uplink]
adaptation = { kind = "fixed", scheme = 10 }
"#;

fn path(link: Value) -> Value {
    resolved(link).expect("a link")
}

fn resolved(link: Value) -> Result<Value, String> {
    let mut problems = Vec::new();
    let link = checked_link(&link, &Place::of("link"), &mut problems);
    if problems.is_empty() {
        match resolve(Some(&link), None, &Shelf) {
            Ok(found) => return Ok(found.path),
            Err(found) => problems = found,
        }
    }
    Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

fn refused(link: Value) -> String {
    resolved(link).expect_err("no link")
}

#[test]
fn defaults_are_filled_in() {
    let stage = &path(json!("rate=10 Mbit/s,delay=20 ms"))["forward"][0];
    assert_eq!(stage["queue"], json!({"kind": "drop_tail", "packets": 34}));
    assert_eq!(stage["rate"], json!({"kind": "fixed", "bits_per_sec": 10_000_000}));
    assert_eq!(stage["delay_ns"], 20_000_000);
    let trace = &path(json!("trace:a.down,delay=20 ms"))["forward"][0];
    assert_eq!(trace["queue"]["packets"], 1098); // 1 BDP at the mean rate, with 4 bytes of framing
    assert_eq!(trace["framing_bytes"], 4);
}

#[test]
fn a_folder_gives_both_directions_and_their_packet_trains() {
    let found = path(json!("trace:net/"));
    let rate = |way: &str| {
        json!({"kind": "mahimahi", "path": format!("net/:{way}"),
            "light": {"path": format!("net/:{way}:light"), "after_ns": 10_000_000,
                "delay_ns": if way == "Down" { 3_000_000 } else { 4_000_000 }}})
    };
    assert_eq!(found["forward"][0]["rate"], rate("Down"));
    assert_eq!(found["reverse"][0]["rate"], rate("Up"));
    // The shortest delays of the trains.
    assert_eq!(found["forward"][0]["delay_ns"], 3_000_000);
    assert_eq!(found["reverse"][0]["delay_ns"], 4_000_000);
    // A written delay applies to both directions, and is added.
    let farther = path(json!("trace:net/,delay=10 ms,server=1 ms"));
    assert_eq!(farther["forward"][0]["delay_ns"], 14_000_000);
    assert_eq!(farther["reverse"][0]["delay_ns"], 15_000_000);
}

#[test]
fn packet_trains_are_a_part_of_a_trace_and_add_their_shortest_delay() {
    let link = json!({"trace": "a.down", "light_trace": "a.light", "light_after": "9 ms",
        "schedule": [{"at": "1 s", "delay": "5 ms"}]});
    let found = path(link);
    let light = json!({"path": "a.light", "after_ns": 9_000_000, "delay_ns": 7_000_000});
    assert_eq!(found["forward"][0]["rate"]["light"], light);
    assert_eq!(found["forward"][0]["delay_ns"], 7_000_000);
    assert_eq!(found["forward"][0]["schedule"][0]["delay_ns"], 12_000_000);
    // The other direction has no recording of its own, so the delay applies to it, too.
    assert_eq!(found["reverse"][0]["delay_ns"], 7_000_000);
    // The default queue is 1 BDP of both delays, 14 ms, at 330 Mbit/s.
    assert_eq!(found["forward"][0]["queue"]["packets"], 384);
    let chain = path(json!({"stage": [
        {"trace": "a.down", "light_trace": "a.light"}, {"preset": "cell"},
    ]}));
    assert_eq!(chain["links"][0]["forward"][0]["delay_ns"], 7_000_000);
    assert_eq!(chain["links"][0]["reverse"][0]["delay_ns"], 7_000_000);
    let found = path(json!("trace:a.down,light_trace=a.light,busy_delay=4 ms,delay=1 ms"));
    assert_eq!(found["forward"][0]["rate"]["light"]["delay_ns"], 4_000_000);
    assert_eq!(found["forward"][0]["delay_ns"], 5_000_000);
    // The framing of 4 bytes that Mahimahi adds to each packet.
    let found = path(json!("trace:a.down,light_trace=a.light,light_first=92 B"));
    assert_eq!(found["forward"][0]["rate"]["light"]["first_bytes"], 96);
    assert_eq!(
        refused(json!("trace:a.down,light_trace=a.light,light_first=0 B")),
        "link.light_first: the first packet of a train has 1 to 1500 bytes"
    );
    assert_eq!(
        refused(json!("trace:a.down,light_trace=a.light,light_first=1501 B")),
        "link.light_first: the first packet of a train has 1 to 1500 bytes"
    );
    assert_eq!(
        refused(json!("trace:a.down,light_trace=a.light,busy_delay=8 ms")),
        "link.busy_delay: the delay of the busy link is longer than the shortest base delay of the \
         packet trains; write a shorter time, or remove busy_delay"
    );
    assert_eq!(
        refused(json!({"rate": "1 Mbit/s", "light_trace": "a.light"})),
        "link.light_trace: \"light_trace\" applies while the load is light, but this link has no \
         \"trace\" that was recorded under load; add one"
    );
    assert_eq!(
        refused(json!({"trace": "a.down", "light_after": "5 ms"})),
        "link.light_after: this link has no packet trains; add light_trace, or remove light_after"
    );
    assert_eq!(
        refused(json!({"trace": "rates.log", "light_trace": "a.light"})),
        "link.light_trace: packet trains need a trace of delivery opportunities (a Mahimahi \
         trace), but this link's trace is a log of rates; remove light_trace"
    );
}

#[test]
fn a_key_after_a_preset_changes_it_and_the_others_stay() {
    let changed = path(json!("wire,rate=5 Mbit/s,aqm.ecn=true"));
    assert_eq!(changed["forward"][0]["rate"]["bits_per_sec"], 5_000_000);
    assert_eq!(changed["forward"][0]["queue"]["ecn"], true);
    assert_eq!(changed["forward"][0]["loss"], json!({"kind": "iid", "ppb": 10_000_000}));
    assert_eq!(changed["reverse"][0]["rate"]["bits_per_sec"], 1_000_000);
    let night = path(json!("wire,period=night"));
    assert_eq!(night["forward"][0]["rate"]["bits_per_sec"], 20_000_000);
    assert!(
        refused(json!("wire,period=noon"))
            .contains("has no values for this period; its periods are night")
    );
}

#[test]
fn a_table_of_a_kind_is_changed_without_naming_the_kind() {
    assert_eq!(path(json!("cell,cell.radio.layers=2"))["radio"]["layers"], 2);
    assert_eq!(
        refused(json!("cell,cell.radio.layrs=2")),
        "link.cell.radio.layrs: unknown key; did you mean layers?"
    );
    assert!(refused(json!({"cell": {"radio": {"layers": 2}}})).starts_with(
        "link.cell.radio.kind: this key is needed here and is missing: one of umts, lte, nr"
    ));
}

#[test]
fn short_keys_become_what_they_stand_for() {
    let path = path(json!("cell,users=3,bandwidth=20 MHz,speed=120 km/h,police=20 Mbit/s, 100 kB"));
    assert_eq!(path["users"].as_array().map(Vec::len), Some(3));
    assert_eq!(path["radio"]["resource_blocks"], 100);
    assert_eq!(path["users"][2]["fading"]["doppler_mhz"], 289_089);
    assert_eq!(path["police"], json!({"bits_per_sec": 20_000_000, "burst_bytes": 100_000}));
}

#[test]
fn wires_and_media_form_a_chain() {
    let found = path(json!({"stage": [{"rate": "9 Mbit/s", "delay": "2 ms"}, {"preset": "cell"}]}));
    assert_eq!(found["kind"], "chain");
    // 1 BDP at 12 ms: 2 ms in each direction, and 8 ms of the cell's core.
    assert_eq!(found["links"][0]["forward"][0]["queue"]["packets"], 10);
    let line = path(json!("cell,wire.rate=9 Mbit/s,wire.delay=2 ms"));
    assert_eq!(found, line);
}

#[test]
fn what_is_wrong_is_told_with_its_key_and_a_remedy() {
    for (link, said) in [
        (json!("rate=10"), "link.rate: the number has no unit; write for example"),
        (json!("rate=1 Mbit/s,dealy=2 ms"), "link.dealy: unknown key; did you mean delay?"),
        (json!("wire,stations=12"), "link.stations: unknown key; did you mean wifi.stations?"),
        (
            json!("cell,radio=lte"),
            "link.radio: unknown key; did you mean cell.radio or wifi.radio?",
        ),
        (json!("rate=1 Mbit/s,aqm=codle"), "link.aqm: must be one of drop_tail, codel, fq_codel"),
        (json!("rate=1 Mbit/s,loss=x"), "link.loss: not a share; write for example"),
        (json!("rate=1 Mbit/s,police=1 Mbit/s"), "link.police: write the rate and the burst"),
        (
            json!("rate=1 Mbit/s,police=1 Mbit/s, 1 kB"),
            "link.police.burst: the burst is too small: a packet of 1500 bytes would never pass; \
             write at least this size",
        ),
        (json!("burst=9 kB"), "link.burst: \"burst\" makes the rate a token bucket"),
        (json!("wifi.stations=3"), "link.wifi.standard: this key is needed here and is missing"),
        (json!("cell,cell.users=0"), "link.cell.users: must be at least 1"),
        (json!("delay=0 ms"), "link: this link has neither a rate nor a delay"),
        (json!("delay=3 ms,queue=1 BDP"), "link.queue: a link without a rate has no BDP"),
        (json!("wifi.standard=802.11n,wifi.channel=0.5 MHz"), "link.wifi.channel: too precise"),
        (json!("broken"), "link.preset: broken.toml:5: link.dealy = \"2 ms\"\n  unknown key"),
        (json!({"outages": [{"start": "2 s", "stop": "1 s"}]}), "link: this link has neither"),
        (json!(5), "link: must be a table"),
    ] {
        let found = refused(link.clone());
        assert!(found.starts_with(said), "{link}: {found}");
    }
}

#[test]
fn figures_are_told_as_people_write_them() {
    let figures = figures_of(&path(json!("cell,server=20 ms")));
    let text =
        |name: &str| figures.iter().find(|(path, _)| path == name).map(|(_, text)| text.as_str());
    assert_eq!(text("radio"), Some("lte"));
    assert_eq!(text("downlink.core_delay"), Some("20 ms"));
    assert_eq!(text("users.0.downlink"), Some("12 dB"));
    assert_eq!(text("downlink.transmissions"), None, "as by default");
}

#[test]
fn what_is_as_usual_does_not_tell_one_path_from_another() {
    let plain = path(json!("rate=1 Mbit/s,delay=2 ms,queue=9 packets"));
    let rest = without_defaults(&plain);
    let forward = json!([{
        "rate": {"bits_per_sec": 1_000_000}, "queue": {"packets": 9}, "delay_ns": 2_000_000,
    }]);
    assert_eq!(rest, json!({"forward": forward, "reverse": [{"delay_ns": 2_000_000}]}));
    let said = path(json!("rate=1 Mbit/s,delay=2 ms,queue=9 packets,transition=retime,hold=true"));
    assert_eq!(without_defaults(&said), rest);
}

#[test]
fn an_expanded_link_has_the_presets_keys_as_texts() {
    let mut problems = Vec::new();
    let link = checked_link(&json!("wire,delay=5 ms"), &Place::of("link"), &mut problems);
    let whole = expand(&link, &Shelf).expect("a link");
    assert_eq!((&whole["delay"], &whole["rate"]), (&json!("5 ms"), &json!("10 Mbit/s")));
    assert_eq!(whole["loss"], json!({"kind": "iid", "share": "1 %"}));
}
