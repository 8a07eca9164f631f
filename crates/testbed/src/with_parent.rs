//! Runs a program that the kernel kills when the program's parent ends, for whatever reason.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Replaces this process with a program; the arguments are the parent's PID, the program and the
/// program's arguments.
///
/// # Errors
/// Returns an error if an argument is invalid, the parent has ended, or the program does not
/// exist; the text is one sentence.
pub fn main_of_program(arguments: &[OsString]) -> Result<u8, String> {
    let [parent, program, rest @ ..] = arguments else {
        return Err("with-parent: needs a process ID and a program as arguments".to_owned());
    };
    let number = parent.to_str().and_then(|text| text.parse::<libc::pid_t>().ok());
    let number = number.ok_or_else(|| format!("{}: not a process ID", parent.to_string_lossy()))?;
    // SAFETY: no pointers. Setting the signal first ensures that the parent cannot end unnoticed.
    let (set, actual) =
        unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
    if set != 0 {
        return Err(io::Error::last_os_error().to_string());
    }
    if actual != number {
        return Err(format!("process {number} has ended or is not the parent of this process"));
    }
    let error = Command::new(program).args(rest).exec();
    Err(format!("{}: {error}", program.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(arguments: &[&str]) -> String {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        main_of_program(&arguments).expect_err("refused")
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        assert!(refusal(&["7"]).contains("a process ID and a program"));
        assert!(refusal(&["x", "true"]).contains("x: not a process ID"));
        // SAFETY: takes nothing.
        let own = unsafe { libc::getpid() }.to_string();
        assert!(refusal(&[&own, "true"]).contains("is not the parent"));
    }
}
