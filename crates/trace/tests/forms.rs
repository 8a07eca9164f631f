//! All supported forms of traces, as their recorders write them.

use cwndlab_trace::{ReadOptions, Reading, TraceKind, read, read_folder, read_light};
use cwndlab_units::{Duration, Time};

fn reading(text: &str) -> Reading {
    read(text.as_bytes(), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn told(options: &[(&str, &str)]) -> ReadOptions {
    let find = |key: &str| {
        options.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned())
    };
    ReadOptions {
        column: find("column"),
        unit: find("unit"),
        time_column: find("time_column"),
        time_unit: find("time_unit"),
    }
}

fn problem(text: &str) -> String {
    read(text.as_bytes(), &ReadOptions::default()).expect_err("must be refused").to_string()
}

/// The log to which a file was converted, without its heading.
fn rows(reading: &Reading) -> String {
    assert_eq!(reading.kind(), TraceKind::Log);
    let text = String::from_utf8(reading.content.clone()).expect("text");
    let rows: Vec<&str> = text.lines().filter(|line| *line != "time_s,rate_mbit_s").collect();
    rows.join(" ")
}

/// Checks the resulting log and the summary of the interpretation.
#[track_caller]
fn check(text: &str, wanted_rows: &str, wanted: &str) {
    let reading = reading(text);
    assert_eq!(rows(&reading), wanted_rows, "{text}");
    assert_eq!(reading.understood.to_string(), wanted);
}

#[test]
fn mahimahi_stays_as_it_is() {
    let trace = reading("0\n5\n5\n1000\n");
    assert_eq!(trace.content, b"0\n5\n5\n1000\n");
    let said = "Mahimahi trace: 4 delivery opportunities of 1,504 bytes, 1 s";
    assert_eq!(trace.understood.to_string(), said);
    // Different line endings, a byte order mark and blank lines at the end change nothing.
    for text in ["\u{feff}0\n5\n5\n1000\n", "0\r5\r5\r1000\r", "0\n5\n5\n1000\n\n\n"] {
        assert_eq!(reading(text).trace, trace.trace, "{text:?}");
    }
}

#[test]
fn cooked_and_pitree_logs_stay_as_they_are() {
    let cooked = "0.0\t4.03\n0.55\t4.79\n1.35\t4.33\n";
    assert_eq!(reading(cooked).content, cooked.as_bytes());
    let pitree = "0.0 8.737448\n5.0 8.781528\n10.0 8.756224\n";
    check(
        pitree,
        "0.0 8.737448 5.0 8.781528 10.0 8.756224",
        "log: a sample every 5 s, Mbit/s, column 2, 15 s",
    );
    // In ms since 1970: as seconds, the log would be invalid.
    let epoch_ms = "1700000000000 8.5\n1700000001000 9\n";
    assert_eq!(rows(&reading(epoch_ms)), "0,8.5 1,9.0");
}

#[test]
fn drives_with_zoned_times_and_pauses_are_logs() {
    // Drives of CoNEXT 2023: CRLF, a time zone, several drives in one file.
    let drive = "time,throughput,speed,latitude,longtitu,area_type\r\n\
        2023-04-04 10:07:13 CDT,81.4,23.68,44.9057,-93.5432,suburban\r\n\
        2023-04-04 10:07:14 CDT,113.0,16.87,44.9057,-93.5435,suburban\r\n\
        2023-04-12 09:00:00 CDT,85.9,16.87,44.9057,-93.5435,rural\r\n\
        2023-04-11 09:00:00 CDT,0,16.87,44.9057,-93.5435,rural\r\n";
    check(
        drive,
        "0,81.4 1,113.0 2,85.9 3,0.0",
        "CSV: a sample a second, Mbit/s, column 2 \"throughput\", 4 s, unit Mbit/s \
         assumed, 2 pauses of the recorder removed",
    );
    let parallel = "Bitrate,Time\n11.9,2023-04-28 11:00:13 CDT\n19.3,2023-04-28 11:00:14 CDT\n";
    assert_eq!(rows(&reading(parallel)), "0,11.9 1,19.3");
}

#[test]
fn iso_times_have_fractions_and_zones() {
    let csv = "time,download_mbit_s,upload_mbit_s,speed_km_h\n\
        2024-04-19 16:23:00.001039872,17.5,12.3,36.2\n\
        2024-04-19 16:23:01.001035008,18.25,13.2,33.5\n";
    assert_eq!(rows(&reading(csv)), "0,17.5 0.999995136,18.25");
    let zoned =
        "timestamp;rate_kbps\n2024-03-10T01:59:59-06:00;500\n2024-03-10T03:00:00-05:00;250\n";
    assert_eq!(rows(&reading(zoned)), "0,0.5 1,0.25");
    let upload = told(&[("column", "upload")]);
    let upload = read(csv.as_bytes(), &upload).expect("a trace");
    assert_eq!(rows(&upload), "0,12.3 0.999995136,13.2");
}

#[test]
fn g_nettrack_has_commas_or_tabs() {
    let commas = "Timestamp,Longitude,CQI,DL_bitrate,UL_bitrate,State\n\
        2020.02.14_23.59.58,-8.5,10,0,250,D\n\
        2020.02.14_23.59.59,-8.5,-,12500,-,D\n\
        2020.02.15_00.00.01,-8.5,11,3001,500,D\n";
    let wanted = "table with tabs: a sample a second, kbit/s, column 4 \"DL_bitrate\", 5 s";
    check(&commas.replace(',', "\t"), "0,0.0 1,12.5 3,3.001", wanted);
    assert_eq!(reading(commas).content, b"time_s,rate_mbit_s\n0,0.0\n1,12.5\n3,3.001\n");
    let options = told(&[("column", "UL_bitrate")]);
    let up = read(commas.as_bytes(), &options).expect("a trace");
    assert_eq!(rows(&up), "0,0.25 3,0.5");
    for end in ["\r\n", "\r"] {
        assert_eq!(reading(&commas.replace('\n', end)).content, reading(commas).content);
    }
}

#[test]
fn a_clock_that_was_set_back_a_little_is_no_other_recording() {
    let mut text = String::from("time,x,mbps\n");
    for second in 0..200 {
        text += &format!("{},0,5\n", if second == 150 { 148 } else { second });
    }
    let reading = reading(&text);
    assert_eq!(reading.trace.period(), Duration::from_secs(200));
    assert!(reading.understood.to_string().ends_with("200 s, 1 row out of order"));
}

#[test]
fn nyu_mets_says_the_unit_in_each_row() {
    let rates = "13.9,Mbits/sec\r\n499,Kbits/sec\r\n0,bits/sec\r\n";
    check(
        rates,
        "0,13.9 1,0.499 2,0.0",
        "CSV: a sample a second, Mbit/s, column 1, 3 s, no times: one sample per second assumed",
    );
    assert_eq!(rows(&reading("13.9 Mbits/sec\n499 Kbits/sec\n")), "0,13.9 1,0.499");
    let all = "9.41,4,0,-91,-19,1,0,2100\n3.21,4,0,-91,-19,1,0,2100\n";
    assert_eq!(
        problem(all),
        "the columns have no names; the columns are 1, 2, 3, 4, 5, 6, 7, 8: name the column of \
         the rate, for example column = \"2\""
    );
    let first = told(&[("column", "1"), ("unit", "Mbit/s")]);
    assert_eq!(rows(&read(all.as_bytes(), &first).expect("a trace")), "0,9.41 1,3.21");
}

#[test]
fn ghent_and_oslo_count_bytes() {
    let ghent = "1453121790686 0 51.0386 3.7300 2961792 1000\n\
        1453121791686 1000 51.0386 3.7300 1480896 1000\n\
        1453121792690 2004 51.0387 3.7301 0 1004\n";
    check(
        ghent,
        "0,23.694336 1,11.847168 2,0.0",
        "table of positions and bytes: a sample a second, bytes and ms, column 5, 3 s",
    );
    let oslo = "1289406399 549 59.851294 10.781266 248456 1021\n\
        1289406400 1570 59.851294 10.781266 102100 1021\n";
    assert!(rows(&reading(oslo)).ends_with(" 1.021,0.8"));
    let bare = "1453121790686 2961792 1000\n1453121791686 1480896 1000\n";
    assert_eq!(rows(&reading(bare)), "0,23.694336 1,11.847168");
}

#[test]
fn iperf3_reports_are_logs() {
    let report = "nohup: ignoring input\n\
        Connecting to host 10.0.2.15, port 5201\n\
        Time: Sun, 25 Jun 2023 19:32:10 GMT\n\
        [  5] local 100.64.0.2 port 35136 connected to 10.0.2.15 port 5201\n\
        [ ID] Interval           Transfer     Bitrate\n\
        [  5]   0.00-1.00   sec  1.60 MBytes  13.4 Mbits/sec    0   45.2 KBytes       (omitted)\n\
        [  5]   0.00-1.00   sec  1.60 MBytes  13.4 Mbits/sec    0   45.2 KBytes\n\
        [  5]   1.00-2.01   sec  3.89 MBytes   512 Kbits/sec    3   12.1 KBytes\n\
        [  5]   2.01-2.10   sec  0.00 Bytes  0.00 bits/sec\n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bitrate         Retr\n\
        [  5]   0.00-2.10   sec  8.03 GBytes   230 Mbits/sec  5147             sender\n\
        [  5]   0.00-2.10   sec  8.00 GBytes   229 Mbits/sec                  receiver\n\
        \niperf Done.\n";
    check(
        report,
        "0,13.4 1,0.512 2.01,0.0 2.055,0.0",
        "iperf3 report: a sample a second, Mbit/s, 2.1 s",
    );
    let parallel = "[ ID] Interval           Transfer     Bitrate\n\
        [  5]   0.00-1.00   sec  1.60 MBytes  13.0 Mbits/sec\n\
        [  7]   0.00-1.00   sec  1.60 MBytes  12.0 Mbits/sec\n\
        [SUM]   0.00-1.00   sec  1.60 MBytes  25.0 Mbits/sec\n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [  5]   1.00-2.00   sec  1.60 MBytes  3.0 Mbits/sec\n\
        [  7]   1.00-2.00   sec  1.60 MBytes  2.0 Mbits/sec\n\
        [SUM]   1.00-2.00   sec  1.60 MBytes  5.0 Mbits/sec\n";
    assert_eq!(rows(&reading(parallel)), "0,25.0 1,5.0");
    let without_sums: String = parallel
        .lines()
        .filter(|line| !line.contains("SUM"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(rows(&reading(&without_sums)), "0,25.0 1,5.0");
    let both_ways = "[  5][TX-C]   0.00-1.00   sec  1.60 MBytes  13.0 Mbits/sec\n\
        [  7][RX-C]   0.00-1.00   sec  1.60 MBytes  40.0 Mbits/sec\n";
    assert_eq!(rows(&reading(both_ways)), "0,40.0");
    // iperf 2 writes blanks after the hyphen, and does not mark its summary.
    let second = "[  3]  0.0- 1.0 sec  1.25 MBytes  10.5 Mbits/sec\n\
        [  3]  1.0- 2.0 sec  1.25 MBytes  11.5 Mbits/sec\n\
        [  3]  2.0- 3.0 sec  1.25 MBytes  12.5 Mbits/sec\n\
        [  3]  0.0- 3.0 sec  3.75 MBytes  11.5 Mbits/sec\n";
    assert_eq!(rows(&reading(second)), "0,10.5 1,11.5 2,12.5");
    // Two tests in one file become consecutive.
    let twice = parallel.repeat(2);
    assert_eq!(rows(&reading(&twice)), "0,25.0 1,5.0 2,25.0 3,5.0");
}

#[test]
fn iperf3_json_is_a_log() {
    let interval = |start: u32, bits: u32, omitted: bool| {
        let end = start + 1;
        format!(
            "{{\"streams\":[{{\"socket\":5}}],\"sum\":{{\"start\":{start}.0,\"end\":{end}.0,\
             \"seconds\":1.0,\"bytes\":1,\"bits_per_second\":{bits}.5,\"omitted\":{omitted},\
             \"sender\":false}}}}"
        )
    };
    let intervals =
        [interval(0, 7, true), interval(0, 2_000_000, false), interval(1, 3_000_000, false)];
    let whole = format!("{{\"start\":{{}},\"intervals\":[{}],\"end\":{{}}}}", intervals.join(","));
    check(&whole, "0,2.0000005 1,3.0000005", "iperf3 JSON: a sample a second, bit/s, 2 s");
    let stream: String = intervals
        .iter()
        .map(|interval| format!("{{\"event\":\"interval\",\"data\":{interval}}}\n"))
        .collect();
    let stream = format!("{{\"event\":\"start\",\"data\":{{}}}}\n{stream}");
    assert_eq!(rows(&reading(&stream)), "0,2.0000005 1,3.0000005");
    let ended = "{\"start\":{},\"intervals\":[],\"end\":{}}";
    assert_eq!(problem(ended), "this iperf3 report contains no intervals: run iperf3 with -i 1");
}

#[test]
fn rows_of_json_are_a_table() {
    let sabre = "[{\"duration_ms\":1000,\"bandwidth_kbps\":5000,\"latency_ms\":20},\
        {\"duration_ms\":500,\"bandwidth_kbps\":2500,\"latency_ms\":20}]";
    let trace = reading(sabre);
    assert_eq!(trace.trace.period(), Duration::from_millis(1500));
    assert!((trace.trace.mean_rate().as_mbit_per_sec_f64() - 6.25 / 1.5).abs() < 1e-6);
    assert_eq!(rows(&reading("[[0, 5], [1, 6.5]]")), "0,5.0 1,6.5");
    assert_eq!(rows(&reading("{\"t\": [0, 1], \"mbps\": [5, 6.5]}")), "0,5.0 1,6.5");
    assert_eq!(rows(&reading("{\"t\":0,\"mbps\":5}\n{\"t\":2,\"mbps\":6}\n")), "0,5.0 2,6.0");
    assert_eq!(
        problem("{\"a\": "),
        "this JSON file is not a trace: EOF while parsing a value at line 1 column 6"
    );
}

#[test]
fn tables_are_read_by_their_headings() {
    for (text, wanted) in [
        ("time_ms,kbps\n0,500\n100,250\n", "0,0.5 0.1,0.25"),
        ("\u{feff}time (s);throughput (Mbit/s)\n0;1,5\n1;2,5\n", "0,1.5 1,2.5"),
        (
            "epoch_us\tbits_per_second\n1700000000000000\t5e6\n1700000000500000\t1e6\n",
            "0,5.0 0.5,1.0",
        ),
        (
            "\"Time\",\"DL Throughput Mbps\",\"UL Throughput Mbps\"\n\"10:07:13\",\"5\",\"1\"\n\"10:07:14\",\"6\",\"2\"\n",
            "0,5.0 1,6.0",
        ),
        ("Date,Time,Mbps\n2023-04-04,23:59:59,5\n2023-04-05,00:00:00,6\n", "0,5.0 1,6.0"),
        ("# t rate\n0 5\n1 6\n", "# t rate 0 5 1 6"),
        ("seconds|bandwidth\n0|5\n1|6\n", "0,5.0 1,6.0"),
        ("time,MB/s\n0,1.5\n1,1\n", "0,12.0 1,8.0"),
        ("Exported by X\n\ntime,area,bandwidth_mbps\n0,a,5\n1,b,6\n2,b,7\n", "0,5.0 1,6.0 2,7.0"),
        ("time,throughput\ns,kbit/s\n0,500\n1,250\n", "0,0.5 1,0.25"),
        ("time,rate,x\n0,5 Mbit/s,1\n1,500 kbit/s,1\n", "0,5.0 1,0.5"),
        (",throughput_mbps\n0,5\n1,6\n", "0,5.0 1,6.0"),
        ("23:59:59,5,Mbits/sec\n00:00:00,6,Mbits/sec\n", "0,5.0 1,6.0"),
        ("time,bitrate\n0,25000000\n1,50000000\n", "0,25.0 1,50.0"),
    ] {
        assert_eq!(rows(&reading(text)), wanted, "{text}");
    }
}

#[test]
fn bytes_are_what_passed_before_their_time() {
    let intervals = "time,bytes,ms\n1,125000,1000\n2,250000,1000\n";
    assert_eq!(rows(&reading(intervals)), "0,1.0 1,2.0");
    let between = "time_s,rx_bytes\n1,125000\n2,250000\n3,125000\n";
    assert_eq!(rows(&reading(between)), "0,1.0 1,2.0 2,1.0");
    let counter = "time_s,total_rx_bytes\n5,1000\n6,126000\n7,376000\n";
    check(
        counter,
        "0,1.0 1,2.0",
        "CSV: a sample a second, bytes, column 2 \"total_rx_bytes\", 2 s, the bytes are the \
         differences of a counter",
    );
}

#[test]
fn what_is_ambiguous_is_an_error_with_the_key_that_settles_it() {
    assert_eq!(
        problem("time,tcp_mbps,udp_mbps\n0,1,2\n1,1,2\n"),
        "several columns could be the rate; the columns are 1 \"time\", 2 \"tcp_mbps\", 3 \
         \"udp_mbps\": name the column of the rate, for example column = \"tcp_mbps\""
    );
    assert_eq!(
        problem("time,speed,rsrp\n0,1,-90\n1,1,-91\n"),
        "no column has the name of a rate; the columns are 1 \"time\", 2 \"speed\", 3 \"rsrp\": \
         name the column of the rate, for example column = \"rsrp\""
    );
    assert_eq!(
        problem("time,throughput\n0,48000\n1,36000\n"),
        "column 2 \"throughput\" has values such as 48000 without a unit: write the unit, for \
         example unit = \"kbit/s\""
    );
    assert_eq!(
        problem("time,x,kbps\n0,1,480\n1000,1,360\n2000,1,360\n"),
        "column 1 \"time\" has times that differ by 1000, without a unit: write time_unit = \
         \"ms\" or time_unit = \"s\""
    );
    assert_eq!(
        problem("12.5\n13.5\n12.0\n"),
        "the columns have no names; the columns are 1: name the column of the rate, for example \
         column = \"1\", unit = \"Mbit/s\""
    );
    assert_eq!(
        problem("12\n13\n12\n"),
        "line 3: the time 12 ms follows the later time 13 ms: sort the lines by time, or, if the \
         numbers are rates, write for example column = \"1\", unit = \"Mbit/s\""
    );
    let options = told(&[("column", "1"), ("unit", "Mbit/s")]);
    assert_eq!(rows(&read(b"12\n13\n12\n", &options).expect("a trace")), "0,12.0 1,13.0 2,12.0");
    let wrong = told(&[("column", "PL_bitrate")]);
    let text = b"time,DL_bitrate\n0,1\n";
    assert_eq!(
        read(text, &wrong).expect_err("must be refused").to_string(),
        "there is no column \"PL_bitrate\"; the columns are 1 \"time\", 2 \"DL_bitrate\": write \
         one of them as \"column\""
    );
    let wrong = told(&[("unit", "furlongs")]);
    assert_eq!(
        read(text, &wrong).expect_err("must be refused").to_string(),
        "`furlongs` is not a known unit; write for example unit = \"Mbit/s\""
    );
    assert_eq!(
        problem("time,x,mbps\n0,1,2\n1,1,fast\n"),
        "line 3: column 3 \"mbps\": `fast` is not a number"
    );
    assert_eq!(
        problem("time,x,mbps\n00:01,1,2\n00:02,1,3\n"),
        "line 2: column 1 \"time\": `00:01` is not a time"
    );
    assert_eq!(
        problem("time,x,mbps\n0,1,2\nsoon,1,3\n"),
        "line 3: column 1 \"time\": `soon` is not a time"
    );
    assert_eq!(
        problem("once upon a time\n"),
        "the trace is empty: it needs at least one line with data"
    );
}

#[test]
fn gzip_of_any_of_them_is_unpacked() {
    // `printf '1\n2\n3\n' | gzip -n`.
    let packed = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x33, 0xe4, 0x32, 0xe2, 0x32, 0xe6, 0x02, 0, 0xd8,
        0x54, 0x5f, 0x77, 6, 0, 0, 0,
    ];
    let reading = read(&packed, &ReadOptions::default()).expect("a trace");
    assert_eq!(reading.content, b"1\n2\n3\n");
    assert!(reading.understood.to_string().ends_with("decompressed with gzip"));
}

#[test]
fn cellreplay_is_a_folder() {
    let files = |names: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
        names.iter().map(|&(name, content)| (name.to_owned(), content)).collect()
    };
    let all = [
        ("down-pdo", "1\n2\n10\n"),
        ("up-pdo", "5\n10\n"),
        ("down-delay-light-pdo", "0 20 0 1 3\n100 24\n200 22 0\n"),
        ("latency-offset-up", "100 0.0\n200 0.1\n"),
    ];
    let path = read_folder(&files(&all)).expect("a recorded path");
    let (file, light) = path.down.light.expect("trains");
    assert_eq!((file.as_str(), light.trace.trains()), ("down-delay-light-pdo", 3));
    assert_eq!(light.trace.shortest_delay(), Duration::from_millis(20));
    assert_eq!(path.up.light, None);
    assert_eq!(path.up.trace.content, b"5\n10\n");
    let said = "CellReplay under load: 3 delivery opportunities of 1,504 bytes, 0.01 s";
    assert_eq!(path.down.trace.understood.to_string(), said);
    let missing = read_folder(&files(&all[..1])).expect_err("must be refused").to_string();
    let wanted = "a folder is a trace only if it contains CellReplay's files down-pdo and \
        up-pdo, or down-heavy-pdo and up-heavy-pdo; this folder contains down-pdo";
    assert_eq!(missing, wanted);
    let wrong = [("down-pdo", "1\n2\n"), ("up-pdo", "1\nx\n")];
    let named = read_folder(&files(&wrong)).expect_err("must be refused").to_string();
    assert!(named.starts_with("up-pdo: line 2: `x`"), "{named}");
    let wrong = [all[0], all[1], ("up-delay-light-pdo", "0 20 0\n1 -3\n")];
    let named = read_folder(&files(&wrong)).expect_err("must be refused").to_string();
    assert!(named.starts_with("up-delay-light-pdo: line 2: "), "{named}");
    let newer = [("down-heavy-pdo.gz", "1\n2\n10\n"), ("up-heavy-pdo", "5\n"), ("up-pdo", "7\n")];
    let path = read_folder(&files(&newer)).expect("a recorded path");
    assert_eq!((path.down.file.as_str(), path.up.file.as_str()), (newer[0].0, newer[1].0));
    for trains in [all[2].1, "0 20.5 0 1 1 2 2.25\n7 20 0 1 1 3 4\n"] {
        assert!(problem(trains).starts_with("this file contains base delays and short packet"));
    }
    let light = read_light(b"\xef\xbb\xbf0 20 0 1 3\r\n100 24\r\n\r\n").expect("trains");
    assert_eq!(light.content, b"0 20 0 1 3\n100 24\n");
}

#[test]
fn a_log_replays_what_the_file_said() {
    let reading = reading("time,kbps\n0,500\n1,1500\n");
    let cwndlab_trace::RateTrace::Log(log) = &reading.trace else { panic!("a log") };
    assert_eq!(log.rate_at(Time::from_millis(500)).0.bits_per_sec(), 500_000);
    assert_eq!(log.rate_at(Time::from_millis(1_500)).0.bits_per_sec(), 1_500_000);
}

#[test]
fn iperf_2_writes_columns_too() {
    let row = |stream: i32, range: &str, mbit_s: u32| {
        let (bytes, bit_s) = (mbit_s * 125_000, mbit_s * 1_000_000);
        format!("20230501120000,10.0.0.2,4444,10.0.0.1,5001,{stream},{range},{bytes},{bit_s}\n")
    };
    let one = [row(3, "0.0-1.0", 12), row(3, "1.0-2.0", 8), row(3, "0.0-2.0", 10)].concat();
    check(&one, "0,12.0 1,8.0", "iperf CSV: a sample a second, Mbit/s, 2 s");
    let two = [row(3, "0.0-1.0", 7), row(4, "0.0-1.0", 5), row(-1, "0.0-1.0", 12)].concat();
    assert_eq!(rows(&reading(&two)), "0,12.0");
    let text = "Client connecting to 10.0.0.1, TCP port 5001\n\
        [  3]  0.0- 1.0 sec  1.50 MBytes  12.6 Mbits/sec\n";
    assert_eq!(reading(text).understood.form, "iperf report");
}

#[test]
fn numbers_that_do_not_grow_before_rates_are_durations() {
    check(
        "1.0 12.5\n1.0 8.5\n1.0 9.0\n",
        "0,12.5 1,8.5 2,9.0",
        "table with spaces: a sample a second, Mbit/s, column 2, 3 s, unit Mbit/s assumed, \
         column 1 read as durations",
    );
    assert_eq!(
        rows(&reading("500,8\n250,4\n500,6\n250,2\n")),
        "0,8.0 0.5,4.0 0.75,6.0 1.25,2.0 1.375,2.0"
    );
    let unsorted: String =
        (0..20).map(|at| format!("{} 5\n", if at == 9 { 3 } else { at })).collect();
    assert_eq!(
        problem(&unsorted),
        "line 10: the time 3 s follows the later time 8 s: sort the \
        lines by time"
    );
}

#[test]
fn rows_without_a_rate_and_directions_are_named() {
    check(
        "time,mbps\n0,10\n1,nan\n2,11\n3,12\n",
        "0,10.0 2,11.0 3,12.0",
        "CSV: a sample a second, Mbit/s, column 2 \"mbps\", 4 s, 1 row without a rate: the \
         previous rate continues",
    );
    let columns = reading("time,download,upload,ping\n0,10,1,45\n1,11,2,45\n");
    assert_eq!(columns.understood.rates.expect("rates").column, Some((2, "download".to_owned())));
    let prose = "this file is not a trace: none of its columns contains numbers";
    assert_eq!(problem("hello world\nthis is prose\n"), prose);
}

#[test]
fn large_numbers_have_their_digits_in_groups() {
    let wanted = "0,12.5 1,8.0";
    for text in [
        "time_ms,bps\n0,\"12,500,000\"\n1000,\"8,000,000\"\n2000,\"8,000,000\"\n",
        "t;kbit/s\n0;12 500\n1;8 000\n2;8 000\n",
        "t;kbit/s\n0;12\u{a0}500,0\n1;8\u{a0}000,0\n2;8\u{a0}000,0\n",
        "t;bit/s\n0;12.500.000\n1;8.000.000\n2;8.000.000\n",
    ] {
        let rows = rows(&reading(text));
        assert!(rows.starts_with(wanted), "{text}{rows}");
    }
}

#[test]
fn rows_of_unequal_length_are_named() {
    assert_eq!(
        problem("time_s,rate_mbit_s\n0,5\n1,6,7\n2,5\n"),
        "line 3 has 3 columns and the line above it has 2: write the same number of columns in \
         every line"
    );
}

#[test]
fn a_number_that_is_too_large_is_short_in_the_message() {
    assert_eq!(
        problem("time_s,rate_mbit_s\n0,5\n1,1e308\n2,5\n"),
        "line 3: `1e308 Mbit/s` is too large: the maximum is 1e7 Mbit/s"
    );
}
