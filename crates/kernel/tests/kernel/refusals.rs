//! Objects that the kernel rejects, and the helper's answers.

use std::fs;

use cwndlab_kernel::protocol::RefusalKind;
use serde_json::json;

use crate::helper::{Helper, load};
use crate::machine::{
    changed, compile_object, folder, is_available, scratch, skip_unless_possible, unused_name,
    written,
};

/// Loads a file that must be refused; returns the kind and the message.
fn refusal_of(source: &std::path::Path) -> (RefusalKind, String) {
    let name = unused_name();
    let refusal = Helper::start().refuses(&load(&compile_object(source, &[]), &name));
    assert!(!is_available(&name));
    (refusal.kind, format!("{}\n{}", refusal.message, refusal.log.join("\n")))
}

/// A copy of Reno with these statements added to cong_avoid.
fn with_cong_avoid(body: &str) -> std::path::PathBuf {
    let old = "	(void)ack;\n";
    changed(&folder().join("reno.c"), old, &format!("{old}{body}"))
}

#[test]
fn another_licence_is_refused() {
    skip_unless_possible!();
    let object = compile_object(&folder().join("reno.c"), &[]);
    let mut bytes = fs::read(&object).expect("an object");
    let (ours, other) = (b"Dual BSD/GPL\0", b"Proprietary\0\0");
    let at = bytes.windows(ours.len()).position(|window| window == ours).expect("a licence");
    bytes[at..at + other.len()].copy_from_slice(other);
    let closed = scratch("closed.o");
    fs::write(&closed, bytes).expect("write a scratch file");
    let refusal = Helper::start().refuses(&load(&closed, &unused_name()));
    assert_eq!(refusal.kind, RefusalKind::Licence, "{refusal:?}");
    assert!(refusal.message.contains("GPL"));
}

#[test]
fn a_name_is_taken_once() {
    skip_unless_possible!();
    let object = compile_object(&folder().join("reno.c"), &[]);
    let (mut first, mut second, name) = (Helper::start(), Helper::start(), unused_name());
    first.do_this(&load(&object, &name));
    for helper in [&mut first, &mut second] {
        let refusal = helper.refuses(&load(&object, &name));
        assert_eq!(refusal.kind, RefusalKind::NameTaken, "{refusal:?}");
        assert!(refusal.message.contains(&name));
    }
    first.end();
    second.do_this(&load(&object, &name));
}

/// Name, definition and table entry of each required hook.
const REQUIRED: [(&str, &str); 3] = [
    ("ssthresh", "CC_PROG(u32, x_ssthresh, struct sock *sk) { return tcp_reno_ssthresh(sk); }"),
    ("undo_cwnd", "CC_PROG(u32, x_undo_cwnd, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }"),
    (
        "cong_avoid",
        "CC_PROG(void, x_cong_avoid, struct sock *sk, u32 ack, u32 acked)
         { tcp_reno_cong_avoid(sk, ack, acked); }",
    ),
];

#[test]
fn a_table_without_a_required_hook_is_refused() {
    skip_unless_possible!();
    for (missing, _) in REQUIRED {
        let mut functions = String::from("#include \"cc.h\"\n");
        let mut table = String::from("CC_OPS(x) = { ");
        for (hook, function) in REQUIRED.iter().filter(|(hook, _)| *hook != missing) {
            functions += &format!("{function}\n");
            table += &format!(".{hook} = CC_CB(x_{hook}), ");
        }
        let (kind, message) = refusal_of(&written(&format!("{functions}{table} }};\n")));
        assert_eq!(kind, RefusalKind::MissingHook, "{missing}: {message}");
        assert!(message.contains(missing), "{message}");
    }
}

#[test]
fn a_function_that_is_not_in_the_table_is_refused() {
    skip_unless_possible!();
    let source = changed(&folder().join("reno.c"), "CC_CB(reno_undo_cwnd)", "NULL");
    let (kind, message) = refusal_of(&source);
    assert_eq!(kind, RefusalKind::Object, "{message}");
    assert!(message.contains("CC_OPS") && message.contains("reno_undo_cwnd"), "{message}");
}

#[test]
fn what_is_too_large_is_refused() {
    skip_unless_possible!();
    let endless = "	for (u32 i = 0; i < tcp_sk(sk)->snd_cwnd; i++)
		acked += cc_prandom_u32(sk) & 1;
";
    let (kind, message) = refusal_of(&with_cong_avoid(endless));
    assert_eq!(kind, RefusalKind::TooLarge, "{message}");
    assert!(message.contains("million instructions"), "{message}");

    let across = "	*(volatile u64 *)((u8 *)inet_csk_ca(sk) + 100) = acked;\n";
    let (kind, message) = refusal_of(&with_cong_avoid(across));
    assert_eq!(kind, RefusalKind::TooLarge, "{message}");
    assert!(message.contains("104 bytes"), "{message}");
}

#[test]
fn a_write_that_the_kernel_forbids_is_refused_by_its_verifier() {
    skip_unless_possible!();
    for body in
        ["	tcp_sk(sk)->snd_cwnd_clamp = 5;\n", "	((volatile u64 *)inet_csk_ca(sk))[13] = acked;\n"]
    {
        let (kind, message) = refusal_of(&with_cong_avoid(body));
        assert_eq!(kind, RefusalKind::Verifier, "{message}");
        assert!(message.contains("not allow it to write, or beyond its 104 bytes"), "{message}");
        assert!(message.contains("no write support to tcp_sock"), "{message}");
    }
}

#[test]
fn a_state_that_does_not_fit_is_found_when_compiled() {
    skip_unless_possible!();
    let old = "CC_PROG(void, reno_cong_avoid";
    let state = format!("struct large {{ u8 bytes[105]; }};\nCC_PRIV_CHECK(struct large);\n{old}");
    let source = changed(&folder().join("reno.c"), old, &state);
    let refused = std::panic::catch_unwind(|| compile_object(&source, &[])).expect_err("too large");
    let message = refused.downcast_ref::<String>().expect("a message");
    assert!(message.contains("struct large exceeds icsk_ca_priv"), "{message}");
}

#[test]
fn only_a_state_of_cc_state_may_be_indexed_by_a_variable() {
    skip_unless_possible!();
    let write = |words: &str| format!("	((volatile u64 *){words})[acked & 7] = acked;\n");
    let (_, message) = refusal_of(&with_cong_avoid(&write("inet_csk_ca(sk)")));
    assert!(message.contains("verifier"), "{message}");

    // The verifier accepts the pointer that cc_state returns.
    let state = "	void *state = cc_state(sk);\n	if (!state)\n		return;\n";
    let source = with_cong_avoid(&format!("{state}{}", write("state")));
    Helper::start().do_this(&load(&compile_object(&source, &[]), &unused_name()));
}

#[test]
fn a_parameter_must_exist() {
    skip_unless_possible!();
    let object = compile_object(&folder().join("cubic.c"), &[]);
    let request = json!({
        "do": "load", "object": object, "name": unused_name(), "parameters": {"betta": 700}
    });
    let refusal = Helper::start().refuses(&request);
    assert_eq!(refusal.kind, RefusalKind::Parameter);
    assert!(refusal.message.contains("\"betta\""), "{refusal:?}");
}

#[test]
fn an_object_without_a_table_is_refused() {
    skip_unless_possible!();
    let source = written("int x;\n");
    let refusal = Helper::start().refuses(&load(&compile_object(&source, &[]), &unused_name()));
    assert_eq!(refusal.kind, RefusalKind::Object, "{refusal:?}");
}

#[test]
fn an_object_that_does_not_record_is_not_recorded() {
    skip_unless_possible!();
    let (mut helper, name) = (Helper::start(), unused_name());
    helper.do_this(&load(&compile_object(&folder().join("reno.c"), &[]), &name));
    let request = json!({"do": "record", "name": name, "file": scratch("calls")});
    assert_eq!(helper.refuses(&request).kind, RefusalKind::Object);
}
