//! The parsers of recorded links accept any bytes without panicking.

mod accepted;

use std::fs;
use std::path::Path;

use cwndlab_trace::{
    LightReading, LightTrace, RateTrace, ReadOptions, TraceError, TraceKind, TraceProblem, read,
    read_folder, read_light,
};
use cwndlab_units::{Duration, Rate, Time};
use proptest::prelude::*;

use accepted::check;

fn read_trace(text: &[u8]) -> Result<RateTrace, TraceError> {
    let reading = read(text, &ReadOptions::default())?;
    // The resulting content is parsed as the same trace.
    let again = match reading.kind() {
        TraceKind::Mahimahi => RateTrace::parse_mahimahi(&reading.content),
        TraceKind::Log => RateTrace::parse_log(&reading.content),
    };
    assert_eq!(again.as_ref(), Ok(&reading.trace));
    assert!(!reading.understood.to_string().contains('\n'));
    Ok(reading.trace)
}

/// Checks packet trains: the properties of valid ones, and the lines of errors.
fn parse_trains(text: &[u8]) {
    match read_light(text) {
        Ok(LightReading { content, trace }) => {
            assert_eq!(LightTrace::parse(&content).as_ref(), Ok(&trace));
            for index in 0..trace.trains() {
                let train = trace.train(index);
                assert!(train.delay >= trace.shortest_delay());
                assert!(!train.offsets_us.is_empty() && train.offsets_us.is_sorted());
            }
            for at in [0, 1, 999_999_999, u64::MAX / 2].map(Time::from_nanos) {
                trace.delay_at(trace.train_at(at), at);
            }
            assert!(!trace.to_string().contains('\n'));
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fn parse_all(text: &[u8]) {
    parse_trains(text);
    let told = ReadOptions {
        column: Some("2".to_owned()),
        unit: Some("kbit/s".to_owned()),
        time_column: Some("1".to_owned()),
        time_unit: Some("ms".to_owned()),
    };
    let files = [
        ("down-pdo".to_owned(), text),
        ("up-pdo".to_owned(), text),
        ("up-delay-light-pdo".to_owned(), text),
    ];
    for parsed in [
        RateTrace::parse_mahimahi(text),
        RateTrace::parse_log(text),
        read_trace(text),
        read(text, &told).map(|reading| reading.trace),
        read_folder(&files).map(|path| path.down.trace.trace).map_err(|error| *error.error),
    ] {
        match parsed {
            Ok(trace) => check(&trace),
            Err(error) => {
                // Compressed or wide-character files have other lines than their bytes suggest.
                let is_wide = [&b"\x1f\x8b"[..], b"\xff\xfe", b"\xfe\xff"]
                    .iter()
                    .any(|magic| text.starts_with(magic));
                let lines = text.split(|byte| b"\r\n".contains(byte)).count();
                assert!(is_wide || error.line.is_none_or(|line| (1..=lines).contains(&line)));
                assert!(!error.to_string().contains('\n'));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_a_trace_or_an_error(text in prop::collection::vec(any::<u8>(), 0..200)) {
        parse_all(&text);
    }

    #[test]
    fn anything_like_a_trace_is_one_or_an_error(text in "[0-9 ,;.#e\\-\r\n\tx]{0,80}") {
        parse_all(text.as_bytes());
    }

    #[test]
    fn anything_like_a_table_is_a_trace_or_an_error(
        heading in "(time|t_ms|date|x|)[,;\t ](rate|mbps|rx_bytes|Mbits/sec|y|)[,;\t ]?(ms|z|)",
        rows in "(([0-9]{1,4}([.,:/T-][0-9]{1,3}){0,3}|-|nan|\"[a-z ]*\"?)([,;\t ]([0-9.]{1,9}|-|Mbits/sec|5 kbps|x)){0,3}\r?\n){0,9}",
    ) {
        parse_all(format!("{heading}\n{rows}").as_bytes());
        parse_all(rows.as_bytes());
    }

    #[test]
    fn anything_like_a_report_is_a_trace_or_an_error(
        lines in "((\\[ {0,2}(5|7|SUM|ID)\\](\\[RX-C\\])? {1,3}[0-9]{1,2}.[0-9]{2}-[0-9]{1,2}.00 +sec +[0-9.]{1,4} MBytes +[0-9.]{1,4} (M|K|)bits/sec( +sender| +\\(omitted\\))?|- - - -|[a-z ]*)\n){0,9}",
        json in "(\\{\"intervals\":\\[)?(\\{\"(sum|t|rate)\":(\\{\"start\":[0-9],\"end\":[0-9],\"bits_per_second\":[0-9]{1,4}\\}|[0-9]{1,3})\\},?){0,3}(\\]\\})?",
    ) {
        parse_all(lines.as_bytes());
        parse_all(json.as_bytes());
        parse_all(format!("[{json}]").as_bytes());
    }

    #[test]
    fn anything_like_trains_is_trains_or_an_error(
        text in "([0-9]{1,4}(\\.[0-9]{0,4})? [0-9]{1,3}( [0-9]{1,2}(\\.[0-9]{1,4})?){0,4}\r?\n?){0,6}",
    ) {
        parse_all(text.as_bytes());
    }

    #[test]
    fn written_trains_are_read(
        trains in prop::collection::vec(
            (0_u64..50_000, 0_u64..90_000, prop::collection::vec(0_u32..3_000, 0..5)),
            1..20,
        ),
    ) {
        let ms = |us: u64| format!("{}.{:03}", us / 1000, us % 1000);
        let (mut text, mut start_us) = (String::new(), 0);
        let mut written = Vec::new();
        for (gap_us, delay_us, gaps_us) in &trains {
            start_us += gap_us;
            let mut offsets_us = vec![0];
            gaps_us.iter().for_each(|gap| offsets_us.push(offsets_us[offsets_us.len() - 1] + gap));
            let offsets: Vec<String> = offsets_us.iter().map(|&us| ms(us.into())).collect();
            let line = [ms(start_us), ms(*delay_us), offsets.join(" ")];
            text.push_str(&format!("{}\n", line.join(" ")));
            written.push((start_us, *delay_us, offsets_us));
        }
        let trace = read_light(text.as_bytes()).expect("trains").trace;
        prop_assert_eq!(trace.trains(), trains.len());
        for (index, (start_us, delay_us, offsets_us)) in written.iter().enumerate() {
            let train = trace.train(index);
            prop_assert_eq!(train.delay, Duration::from_micros(*delay_us));
            prop_assert_eq!(train.offsets_us, &offsets_us[..]);
            let is_last = written.get(index + 1).is_none_or(|next| next.0 > *start_us);
            let at = Time::from_micros(*start_us) + trace.period();
            prop_assert!(!is_last || trace.train_at(at) == index);
        }
    }

    #[test]
    fn what_is_written_is_read(stamps in prop::collection::vec(0_u32..1000, 1..100)) {
        let mut stamps = stamps;
        stamps.sort_unstable();
        let text: String = stamps.iter().map(|stamp| format!("{stamp}\n")).collect();
        match read_trace(text.as_bytes()) {
            Ok(RateTrace::Mahimahi(trace)) => prop_assert_eq!(trace.stamps_ms(), &stamps[..]),
            Ok(RateTrace::Log(_)) => prop_assert!(false, "one column is no log"),
            Err(error) => {
                prop_assert_eq!(error.problem, TraceProblem::NoDuration);
                prop_assert_eq!(stamps[stamps.len() - 1], 0);
            }
        }
    }

    #[test]
    fn a_log_gives_back_its_rates(
        rows in prop::collection::vec((1_u64..5_000, 1_u64..1_000_000), 1..50),
        offset_ms in 0_u64..2_000_000_000,
    ) {
        let mut now_ms = offset_ms;
        let mut text = String::from("time_s,rate_mbit_s\n");
        let mut times = Vec::new();
        for (gap_ms, kbit_s) in &rows {
            let (time, rate) = (now_ms as f64 / 1e3, *kbit_s as f64 / 1e3);
            text.push_str(&format!("{time},{rate}\n"));
            times.push(now_ms - offset_ms);
            now_ms += gap_ms;
        }
        let Ok(RateTrace::Log(log)) = read_trace(text.as_bytes()) else {
            return Err(TestCaseError::fail("must be a log"));
        };
        for (start_ms, (_, kbit_s)) in times.iter().zip(&rows) {
            // Times near 2e9 s are accurate to a microsecond.
            let inside = Time::from_millis(*start_ms) + Duration::from_micros(500);
            prop_assert_eq!(log.rate_at(inside).0, Rate::from_kbit_per_sec(*kbit_s));
            let next_lap = inside + log.period();
            prop_assert_eq!(log.rate_at(next_lap).0, Rate::from_kbit_per_sec(*kbit_s));
        }
    }
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files = 0;
    for target in ["parse_mahimahi", "parse_log", "parse_light", "read_trace"] {
        for entry in fs::read_dir(corpus.join(target)).expect("the corpus is in the repository") {
            parse_all(&fs::read(entry.expect("an entry").path()).expect("a file"));
            files += 1;
        }
    }
    assert!(files >= 40);
}

#[test]
fn recorded_traces_are_accepted() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !traces.is_dir() {
        println!("skipped: the recorded traces are not beside this checkout");
        return;
    }
    for (folder, kind) in [
        ("mahimahi", TraceKind::Mahimahi),
        ("hsdpa-norway", TraceKind::Log),
        ("solis-wifi", TraceKind::Log),
    ] {
        let mut accepted = 0;
        for entry in fs::read_dir(traces.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if name == "README.md" || name == "UPSTREAM_LICENSE" || path.is_dir() {
                continue;
            }
            let trace = read_trace(&fs::read(&path).expect("a file"))
                .unwrap_or_else(|error| panic!("{folder}/{name}: {error}"));
            assert_eq!(trace.kind(), kind, "{name}");
            check(&trace);
            accepted += 1;
        }
        assert!(accepted > 5, "{folder}");
    }
    let short = fs::read(traces.join("mahimahi/TMobile-LTE-short.down")).expect("a file");
    let mean = read_trace(&short).expect("a trace").mean_rate();
    // The traces' own statistics state 16.75 Mbit/s.
    assert!((mean.as_mbit_per_sec_f64() - 16.75).abs() < 0.01, "{mean:?}");
}

#[test]
fn what_is_not_lines_of_text_is_refused_in_the_same_words_by_both() {
    for parse in [RateTrace::parse_mahimahi, RateTrace::parse_log] {
        let problem = |text: &[u8]| parse(text).expect_err("must be refused").to_string();
        assert_eq!(problem(b""), "the trace is empty: it needs at least one line with data");
        assert_eq!(problem(b"\n"), "line 1: the line is blank: remove it");
        let binary = "is not text: is the trace a compressed or binary file?";
        assert_eq!(problem(b"\x1f\x8b\n"), format!("line 1: byte 0x1f {binary}"));
        assert_eq!(problem("\u{b5}\n".as_bytes()), format!("line 1: byte 0xc2 {binary}"));
        let long = "line 1: the line is longer than 1000 bytes: is this file a trace?";
        assert_eq!(problem(&[b'9'; 1001]), long);
    }
}

fn log_problem(text: &[u8]) -> String {
    RateTrace::parse_log(text).expect_err("must be refused").to_string()
}

#[test]
fn each_mistake_in_a_log_names_its_line_and_the_remedy() {
    assert_eq!(log_problem(b"t,r\n"), "the trace is empty: it needs at least one line with data");
    assert_eq!(log_problem(b"0,1\n\n1,1\n"), "line 2: the line is blank: remove it");
    assert_eq!(
        log_problem(b"0,1\n2,1\n1,1\n"),
        "line 3: the time 1 s follows the later time 2 s: sort the lines by time"
    );
    assert_eq!(log_problem(b"0,-1\n"), "line 1: `-1` is negative: times and rates start at 0");
    assert_eq!(log_problem(b"0,fast\n"), "line 1: `fast` is not a number");
    assert_eq!(log_problem(b"0,nan\n"), "line 1: `nan` is not a number");
    assert_eq!(
        log_problem(b"0,1,2\n"),
        "line 1: `0,1,2` is not a time in s and a rate in Mbit/s, such as `1.5,20`"
    );
    assert_eq!(log_problem(b"0,2e7\n"), "line 1: `2e7` is too large: the maximum is 1e7 Mbit/s");
    assert_eq!(
        log_problem(b"0,0\n1,0\n"),
        "every rate in the trace is 0: at least one must be \
        positive"
    );
    assert_eq!(
        log_problem(b"0,1\n\x00,1\n"),
        "line 2: byte 0x00 is not text: is the trace a compressed or binary file?"
    );
}

#[test]
fn one_row_holds_for_ever_and_the_last_as_long_as_the_one_before() {
    let period = |text: &[u8]| RateTrace::parse_log(text).expect("a log").period();
    assert_eq!(period(b"7,20\n"), Duration::from_secs(1));
    assert_eq!(period(b"0,1\n2,1\n3,1\n"), Duration::from_secs(4));
    // If a time occurs twice, its last rate holds.
    let twice = RateTrace::parse_log(b"0,1\n2,1\n2,5\n3,0\n3,0\n").expect("a log");
    assert_eq!(twice.period(), Duration::from_secs(4));
    assert_eq!(twice.mean_rate(), Rate::from_kbit_per_sec(1_750));
}
