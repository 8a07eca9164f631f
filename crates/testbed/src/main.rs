//! The helper process `cwndlab-testbed`: requests on standard input, answers on standard output.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    cwndlab_testbed::serve()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("cwndlab-testbed: the kernel backend needs Linux");
    std::process::exit(1);
}
