//! Guards an algorithm loaded at run time: if it breaks a rule, the process ends with one line
//! that states the error, the hook and the place.
//!
//! The hooks themselves are wrapped by `algorithms/port/guard.c`. This module contains the parts
//! that exist once per process: the signal handlers, which report a crash or an endless loop like
//! any other error, and the recorder of calls. The process should be used only for runs with such
//! an algorithm, and use one thread for them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::{self, Write};
use std::mem;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::ffi::HOOKS;
use crate::recorder::{self, Call, record};

/// Exit status of a process whose algorithm broke a rule: `EX_SOFTWARE` of sysexits.h.
pub const GUARD_EXIT_STATUS: i32 = 70;

/// First word of the guard's line on standard error. The tab-separated fields of the line are this
/// word, the algorithm's source, hook, error, file, line, object, offset in the object, and the
/// conformance suite's example. Unknown fields are empty.
pub const GUARD_LINE: &str = "cwndlab-guard";

/// Checks periodically whether the same call of a hook is still running.
struct Watch {
    signal: c_int,
    timer: c_int,
    /// Period of the check, measured on the timer's clock.
    tick_micros: i64,
    /// `HOST.calls` at the last check.
    calls: AtomicU64,
    /// Consecutive checks that found the same call running.
    ticks: AtomicU32,
    what: &'static str,
}

/// Number of checks after which the guard ends a call that is still running: the call took at
/// least two periods.
const MOST_TICKS: u32 = 3;

/// Two watches: one measures the CPU time of the process; the other measures real time, in case a
/// hook waits.
static WATCHES: [Watch; 2] = [
    Watch {
        signal: libc::SIGPROF,
        timer: libc::ITIMER_PROF as c_int,
        tick_micros: 500_000,
        calls: AtomicU64::new(0),
        ticks: AtomicU32::new(0),
        what: "has not returned after one second of computation",
    },
    Watch {
        signal: libc::SIGALRM,
        timer: libc::ITIMER_REAL as c_int,
        tick_micros: 5_000_000,
        calls: AtomicU64::new(0),
        ticks: AtomicU32::new(0),
        what: "has not returned after ten seconds",
    },
];

const SIGNALS: [(c_int, &str); 6] = [
    (libc::SIGSEGV, "accessed memory that does not belong to it"),
    (libc::SIGBUS, "accessed memory that does not belong to it"),
    (libc::SIGFPE, "divides by zero, or the smallest integer by -1"),
    (libc::SIGILL, "executed an invalid instruction"),
    (libc::SIGABRT, "aborted"),
    (libc::SIGSYS, "made a system call"),
];

/// `CC_NO_HOOK`.
const NO_HOOK: u32 = HOOKS.len() as u32;

/// Value of `hook` while an object is being loaded, because loading may run the object's code.
const LOADING: u32 = NO_HOOK + 1;

/// System calls whose names appear in messages.
#[cfg(target_os = "linux")]
const CALLS: &[(libc::c_long, &str)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, "open"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_fork, "fork"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_vfork, "vfork"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_pause, "pause"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_mmap, "mmap"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_clone3, "clone3"),
    (libc::SYS_execve, "execve"),
    (libc::SYS_socket, "socket"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_kill, "kill"),
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
];
#[cfg(not(target_os = "linux"))]
const CALLS: &[(libc::c_long, &str)] = &[];

/// `struct cc_host`.
#[repr(C)]
pub(crate) struct Host {
    hook: AtomicU32,
    calls: AtomicU64,
    source: AtomicPtr<c_char>,
    fail: extern "C" fn(*const c_char, *const c_char, u32),
    record: extern "C" fn(*const Call),
    pub(crate) is_recording: AtomicU32,
    is_lenient: AtomicU32,
}

pub(crate) static HOST: Host = Host {
    hook: AtomicU32::new(NO_HOOK),
    calls: AtomicU64::new(0),
    source: AtomicPtr::new(ptr::null_mut()),
    fail,
    record,
    is_recording: AtomicU32::new(0),
    is_lenient: AtomicU32::new(0),
};

/// Starts recording the calls of loaded algorithms.
pub fn record_calls() {
    recorder::begin();
    HOST.is_recording.store(1, Ordering::Relaxed);
}

/// Stops recording and returns the calls since [`record_calls`], concatenated.
pub fn recorded_calls() -> Vec<u8> {
    HOST.is_recording.store(0, Ordering::Relaxed);
    recorder::end()
}

/// Last field of the guard's line: a description of the current work; null if unknown.
static CONTEXT: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Sets whether the guard ignores rules that the caller checks itself.
pub(crate) fn leave_rules_to_the_caller(is_so: bool) {
    HOST.is_lenient.store(u32::from(is_so), Ordering::Relaxed);
}

/// Calls `work`. If the process ends during the call, the guard's line contains `about`.
pub(crate) fn with_context<R>(about: &dyn fmt::Display, work: impl FnOnce() -> R) -> R {
    let text = CString::new(about.to_string()).unwrap_or_default();
    CONTEXT.store(text.as_ptr().cast_mut(), Ordering::Relaxed);
    let answer = work();
    CONTEXT.store(ptr::null_mut(), Ordering::Relaxed);
    answer
}

/// Calls `work`, which loads the object of `source`, under the same guard as a hook.
pub(crate) fn watch_loading<R>(source: *mut c_char, work: impl FnOnce(*const Host) -> R) -> R {
    let host = host();
    HOST.source.store(source, Ordering::Relaxed);
    HOST.calls.fetch_add(1, Ordering::Relaxed);
    HOST.hook.store(LOADING, Ordering::Relaxed);
    let answer = work(host);
    HOST.hook.store(NO_HOOK, Ordering::Relaxed);
    answer
}

/// Installs the signal handlers. If the filter of `cwndlab-sandbox` refuses a system call, the
/// call fails with an error in the program itself, but ends the process in an algorithm.
pub fn install_guard() {
    host();
}

/// Returns the data that this process shares with its algorithms, with the signal handlers
/// installed.
fn host() -> *const Host {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    &raw const HOST
}

/// Reports that an algorithm broke a rule, and ends the process.
extern "C" fn fail(what: *const c_char, file: *const c_char, line: u32) {
    // SAFETY: the guard passes strings that live as long as the call.
    let (what, file) = unsafe { (text(what), text(file)) };
    report(what, file, line, ptr::null());
}

/// # Safety
/// The pointer must be null or point to a string that lives as long as it is used.
unsafe fn text<'a>(pointer: *const c_char) -> &'a str {
    // SAFETY: see above.
    if pointer.is_null() { "" } else { unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or("") }
}

fn install() {
    const STACK_BYTES: usize = 64 * 1024;
    let stack = Box::leak(vec![0_u8; STACK_BYTES].into_boxed_slice());
    let stack =
        libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK_BYTES };
    // SAFETY: the stack is never freed; the actions are valid, and their handlers take no locks.
    unsafe {
        libc::sigaltstack(&raw const stack, ptr::null_mut());
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        action.sa_sigaction = on_signal as *const () as usize;
        for (signal, _) in SIGNALS {
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
        action.sa_flags |= libc::SA_RESTART;
        for watch in &WATCHES {
            libc::sigaction(watch.signal, &raw const action, ptr::null_mut());
            let tick = libc::timeval {
                tv_sec: watch.tick_micros / 1_000_000,
                tv_usec: (watch.tick_micros % 1_000_000) as libc::suseconds_t,
            };
            let interval = libc::itimerval { it_interval: tick, it_value: tick };
            libc::setitimer(watch.timer as _, &raw const interval, ptr::null_mut());
        }
    }
}

/// Beginning of `siginfo_t` for a system call that a filter refused.
#[repr(C)]
struct RefusedCall {
    numbers: [c_int; 3],
    address: *const c_void,
    call: c_int,
}

extern "C" fn on_signal(signal: c_int, info: *const libc::siginfo_t, context: *mut c_void) {
    let is_in_hook = HOST.hook.load(Ordering::Relaxed) != NO_HOOK;
    if let Some(watch) = WATCHES.iter().find(|watch| watch.signal == signal) {
        let calls = HOST.calls.load(Ordering::Relaxed);
        if !is_in_hook || watch.calls.swap(calls, Ordering::Relaxed) != calls {
            watch.ticks.store(0, Ordering::Relaxed);
        } else if watch.ticks.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_TICKS {
            report(watch.what, "", 0, instruction(context));
        }
        return;
    }
    if is_in_hook {
        let what =
            SIGNALS.iter().find(|(number, _)| *number == signal).map_or("", |(_, what)| what);
        if signal == libc::SIGSYS {
            // SAFETY: the kernel fills this for SIGSYS.
            let number = libc::c_long::from(unsafe { (*info.cast::<RefusedCall>()).call });
            let name = CALLS.iter().find(|(call, _)| *call == number).map(|(_, name)| name);
            let mut text = Line::default();
            let _ = match name {
                Some(name) => {
                    write!(text, "{what} ({name}); algorithms must not make system calls")
                }
                None => write!(
                    text,
                    "{what} (number {number}); algorithms must not make system \
                    calls"
                ),
            };
            report(text.as_str(), "", 0, instruction(context));
        }
        report(what, "", 0, instruction(context));
    }
    if signal == libc::SIGSYS {
        refuse_call(context);
        return;
    }
    // The algorithm did not cause it: the instruction runs again, with the default action.
    // SAFETY: a plain call with constants.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Makes the interrupted system call fail with EPERM.
fn refuse_call(context: *mut c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel hands a handler with SA_SIGINFO its context, and takes it back.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe {
        (*context).uc_mcontext.gregs[libc::REG_RAX as usize] = -i64::from(libc::EPERM);
    }
    // SAFETY: as above.
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe {
        (*context).uc_mcontext.regs[0] = (-i64::from(libc::EPERM)).cast_unsigned();
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = context;
}

/// Address of the interrupted instruction; null if unknown.
fn instruction(context: *const c_void) -> *const c_void {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel hands a handler with SA_SIGINFO its context.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as *const c_void };
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    return unsafe { (*context).uc_mcontext.pc as *const c_void };
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    return {
        let _ = context;
        ptr::null()
    };
}

/// Writes the guard's line to standard error and ends the process.
fn report(what: &str, file: &str, line: u32, at: *const c_void) -> ! {
    let hook = match HOST.hook.load(Ordering::Relaxed) {
        LOADING => "code that runs when it is loaded",
        hook => HOOKS.get(hook as usize).copied().unwrap_or(""),
    };
    let mut written = Line::default();
    // SAFETY: the loader's name of the file lives as long as the process.
    let source = unsafe { text(HOST.source.load(Ordering::Relaxed)) };
    let _ = write!(written, "{GUARD_LINE}\t{source}\t{hook}\t{what}\t{file}\t");
    if line > 0 {
        let _ = write!(written, "{line}");
    }
    let _ = write!(written, "\t");
    // SAFETY: dladdr fills the struct or reports that it did not.
    unsafe {
        let mut info: libc::Dl_info = mem::zeroed();
        if !at.is_null() && libc::dladdr(at, &raw mut info) != 0 && !info.dli_fname.is_null() {
            let object = CStr::from_ptr(info.dli_fname).to_str().unwrap_or("");
            let _ = write!(written, "{object}\t{:#x}", at.addr() - info.dli_fbase.addr());
        } else {
            let _ = write!(written, "\t");
        }
    }
    // SAFETY: a context lives as long as the work that it is about.
    let context = unsafe { text(CONTEXT.load(Ordering::Relaxed)) };
    let _ = writeln!(written, "\t{context}");
    // SAFETY: the length is the buffer's; _exit runs no destructors, whose data may be corrupt.
    unsafe {
        libc::write(libc::STDERR_FILENO, written.bytes.as_ptr().cast(), written.length);
        libc::_exit(GUARD_EXIT_STATUS)
    }
}

/// A line of text in a buffer of fixed size, because signal handlers must not allocate memory.
struct Line {
    bytes: [u8; 4096],
    length: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self { bytes: [0; 4096], length: 0 }
    }
}

impl Line {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            *self.bytes.get_mut(self.length).ok_or(fmt::Error)? = byte;
            self.length += 1;
        }
        Ok(())
    }
}
