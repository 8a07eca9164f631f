//! The packet scripts of `tests/scripts`: one behaviour of TCP each.

mod packet_script;

use std::fs;
use std::path::Path;

use packet_script::{Action, Script, parse, run};

fn load(name: &str) -> Script {
    let file = format!("crates/tcp/tests/scripts/{name}.pkt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    let text = fs::read_to_string(path.with_extension("pkt")).expect("the script is there");
    parse(&file, &text).unwrap_or_else(|failure| {
        panic!("{file}:{}: {}", failure.line, failure.problem);
    })
}

fn play(name: &str) {
    let script = load(name);
    if let Err(failure) = run(&script) {
        panic!("\n{}:{}: {}", script.file, failure.line, failure.problem);
    }
}

/// Defines a test for each script, of the same name.
macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { play(stringify!($name)); })*
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

scripts! {
    accecn_answer_broken,
    accecn_answer_ce,
    accecn_answer_classic,
    accecn_answer_ect0,
    accecn_answer_ect1,
    accecn_answer_lost,
    accecn_answer_none,
    accecn_answer_reserved,
    accecn_answer_unused,
    accecn_answer_unused_1,
    accecn_answer_unused_5,
    accecn_answer_zero,
    accecn_capable_syn,
    accecn_capable_syn_cleared,
    accecn_capable_syn_marked,
    accecn_classic_server,
    accecn_contradiction,
    accecn_contradiction_after_classic,
    accecn_count_zero,
    accecn_later_syn_ack,
    accecn_marked_acks,
    accecn_negotiation,
    accecn_old_ack,
    accecn_option,
    accecn_option_absent,
    accecn_option_blocked,
    accecn_option_first_data_lost,
    accecn_option_inconsistent,
    accecn_option_initial_values,
    accecn_option_on_syn,
    accecn_option_receiver,
    accecn_option_sack,
    accecn_option_second_syn,
    accecn_option_syn_ack_lost,
    accecn_option_wrapped,
    accecn_option_zeroed,
    accecn_option_zeroed_server,
    accecn_passive,
    accecn_passive_ce,
    accecn_passive_classic,
    accecn_passive_ect0,
    accecn_passive_ect1,
    accecn_passive_none,
    accecn_passive_reserved,
    accecn_receiver,
    accecn_reduction,
    accecn_second_syn,
    accecn_syn_ack_lost,
    accecn_syn_ack_marked,
    accecn_syn_lost,
    ack_of_nothing,
    ack_of_syn_ack_lost,
    acks_lost,
    application_limited,
    classic_clock_ticks,
    classic_delayed_ack,
    classic_limited_transmit,
    classic_newreno,
    classic_prr,
    classic_reno,
    classic_rtt_of_every_ack,
    classic_sack,
    classic_tahoe,
    classic_timeout,
    congestion_avoidance,
    cwnd_limited_growth,
    dctcp_receiver,
    delayed_ack,
    delayed_ack_interactive,
    delivery_rate,
    delivery_rate_app_limited,
    delivery_rate_spurious,
    disorder,
    dsack,
    early_retransmit,
    echo_of_repeated,
    ecn_echo,
    ecn_lost_capability,
    ecn_negotiation,
    ecn_off,
    ecn_passive,
    ecn_reduction,
    ecn_refused,
    fast_retransmit,
    fin_exchange,
    fin_lost,
    fin_with_data,
    forward_acknowledgement,
    frto_genuine,
    frto_spurious,
    frto_without_new_data,
    growth_per_ack,
    half_close,
    half_close_by_peer,
    handshake,
    handshake_linux_2_6_24,
    handshake_linux_3_5,
    handshake_linux_5_10,
    handshake_linux_6_18,
    handshake_passive,
    handshake_without_options,
    host_bursts,
    host_refuses,
    host_refuses_retransmission,
    host_small_queues,
    idle_restart,
    initial_window,
    invalid_ratelimit,
    late_not_lost,
    limited_transmit,
    limited_transmit_without_sack,
    nagle,
    nagle_off,
    newreno_without_sack,
    offload_pacing,
    old_ack_with_sack,
    out_of_order_four_blocks,
    out_of_order_sack,
    out_of_window,
    pacing,
    paws,
    paws_reordered_ack,
    prr,
    prr_linux_3_5,
    prr_slow_start,
    quick_acks,
    rack_lost_retransmission,
    rack_reordering_timer,
    rack_reordering_window,
    rate_halving,
    receive_buffer_autotuning,
    receive_window_growth,
    recovery_with_timeout,
    refused,
    reordering_before_3_18,
    reordering_without_sack,
    reset,
    retransmission_timeout,
    rto_estimator,
    rto_of_lost_acks,
    sack_block_forgotten,
    sack_compression,
    sack_recovery,
    sack_reneging,
    sack_uncompressed,
    send_buffer,
    send_buffer_linux_6_18,
    sequence_wrap,
    silly_window,
    simultaneous_close,
    slow_start,
    spurious_timeout_halved,
    syn_ack_retransmission,
    syn_lost_twice,
    syn_retransmission,
    tail_loss_probe,
    tail_loss_probe_new_data,
    tail_loss_probe_repaired,
    tail_loss_probe_single,
    tail_loss_probe_spurious,
    ticks_of_rtt,
    timeout_without_sack,
    timestamp_echo,
    timestamp_wrap,
    two_way_data,
    undo_dsack_during_recovery,
    undo_dsack_loss,
    undo_dsack_recovery,
    undo_timestamps_at_the_end,
    undo_timestamps_loss,
    undo_timestamps_recovery,
    without_rack,
    zero_window_probe,
    zero_window_probe_with_data,
}

#[test]
fn every_script_is_played_and_says_what_and_whence() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<String> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    let mut names = NAMES.to_vec();
    files.sort_unstable();
    names.sort_unstable();
    assert_eq!(files, names);
    for name in names {
        let script = load(name);
        assert!(script.title.ends_with('.'), "{name}: the first line is a sentence");
        assert!(!script.sources.is_empty(), "{name}: no `# Source:`");
        assert!(!script.steps.is_empty(), "{name} does nothing");
    }
}

#[test]
fn linux_2_6_24_does_what_3_5_did() {
    // With the first window and the window reduction of 3.5, which have scripts of their own.
    let changes: toml::Table =
        toml::from_str("initial_cwnd_pkts = 10\nwindow_reduction = \"prr\"").expect("settings");
    for name in [
        "forward_acknowledgement",
        "growth_per_ack",
        "prr_linux_3_5",
        "reordering_before_3_18",
        "sack_uncompressed",
        "spurious_timeout_halved",
        "ticks_of_rtt",
    ] {
        let mut script = load(name);
        assert_eq!(script.setup.stack, "linux-3.5", "{name}");
        script.setup.stack = "linux-2.6.24".to_owned();
        // Settings in the script itself take precedence.
        let own = std::mem::replace(&mut script.setup.settings, changes.clone());
        script.setup.settings.extend(own);
        if let Err(failure) = run(&script) {
            panic!("{name}:{}: {}", failure.line, failure.problem);
        }
    }
}

#[test]
fn documentation_lists_every_script_with_its_title() {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explanation/tcp-by-example.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in NAMES {
        let item =
            format!("- [{name}](../../crates/tcp/tests/scripts/{name}.pkt): {}", load(name).title);
        assert!(words.contains(&item), "tcp-by-example.md lacks\n{item}");
    }
    let example = page.split("```").nth(1).expect("the page has an example");
    let example = parse("tcp-by-example.md", example).expect("the example is a script");
    assert_eq!(run(&example), Ok(()));
}

#[test]
fn every_segment_that_a_script_expects_is_checked() {
    let mut changed = 0;
    for name in NAMES {
        let script = load(name);
        for index in 0..script.steps.len() {
            let mut other = script.clone();
            let Action::Leave(template) = &mut other.steps[index].action else { continue };
            match &mut template.range {
                Some((start, _)) => *start = start.wrapping_sub(1),
                None => template.acks.0 = template.acks.0.wrapping_sub(1),
            }
            let line = script.steps[index].line;
            let failure = run(&other).expect_err("a wrong number is noticed");
            assert_eq!(failure.line, line, "{name}: {}", failure.problem);
            changed += 1;
        }
    }
    assert!(changed > 300, "{changed} segments are expected");
}
