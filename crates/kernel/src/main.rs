//! The helper process `cwndlab-kernel`: requests on standard input, answers on standard output.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    cwndlab_kernel::serve()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("cwndlab-kernel: the kernel backend needs Linux");
    std::process::exit(1);
}
