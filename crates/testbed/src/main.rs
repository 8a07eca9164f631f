//! The helper process `cwndlab-testbed`: reads requests from standard input and writes answers to
//! standard output.
//!
//! Other uses: `cwndlab-testbed shell DESCRIPTOR PROGRAM...` runs a program behind a link.
//! `cwndlab-testbed with-parent NUMBER PROGRAM...` runs a program that ends with its parent.
//! `cwndlab-testbed check` exits with status 1 and prints the reason if this user cannot run
//! studies on this kernel.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let ended = match arguments.split_first() {
        Some((word, rest)) if word == "with-parent" => cwndlab_testbed::main_of_program(rest),
        Some((word, rest)) if word == "shell" => cwndlab_testbed::main_of_shell(rest),
        Some((word, [])) if word == "check" => cwndlab_testbed::main_of_check(),
        _ => cwndlab_testbed::serve().map(|()| 0).map_err(|error| error.to_string()),
    };
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("cwndlab-testbed: the kernel backend needs Linux");
    std::process::exit(1);
}
