//! Restricts the system calls of a process with seccomp filters in the kernel's classic BPF.

use std::io;
use std::ptr;

use libc::{c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e; // AUDIT_ARCH_X86_64
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7; // AUDIT_ARCH_AARCH64

/// Bit that marks calls of the x32 ABI.
const X32_BIT: u32 = 0x4000_0000;

/// Offset of the system call number in `struct seccomp_data`.
const NUMBER: u32 = 0;
/// Offset of the architecture in `struct seccomp_data`.
const ARCHITECTURE_AT: u32 = 4;
/// Offset of the instruction pointer in `struct seccomp_data`.
const INSTRUCTION: u32 = 8;
/// Offset of the arguments in `struct seccomp_data`.
const ARGUMENTS: u32 = 16;

/// System calls that the worker process may make with any arguments: memory, open files, clocks,
/// and waiting for threads.
const OF_WORKER: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_setitimer,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    libc::SYS_getrlimit,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    // The runtime of tables uses these to wait for its own threads.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_socketpair,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
];

/// System calls that a compiler does not need.
const NOT_OF_COMPILER: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_userfaultfd,
];

/// Filter action that permits a system call.
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
/// Filter action that raises SIGSYS.
const TRAP: u32 = libc::SECCOMP_RET_TRAP;

const fn errno(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number as u32
}

/// Whether the running kernel has seccomp filters that raise SIGSYS.
pub(crate) fn is_available() -> bool {
    let action = TRAP;
    // SAFETY: the kernel reads the four bytes of `action`.
    let status = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    status == 0
}

/// Installs a filter for all threads of this process at once.
pub(crate) fn install(filter: &[sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program. PR_SET_NO_NEW_PRIVS was set with the capabilities.
    let status = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The filter of the worker process: any system call that is not listed raises SIGSYS.
pub(crate) fn of_worker() -> Vec<sock_filter> {
    let mut filter = beginning();
    filter.extend(from_library());
    filter.push(load(NUMBER));
    for &call in OF_WORKER {
        filter.extend(on(call as u32, &[answer(ALLOW)]));
    }
    // Allows threads but no processes. glibc falls back from clone3, whose flags are in memory, to
    // clone.
    filter.extend(on(libc::SYS_clone3 as u32, &[answer(errno(libc::ENOSYS))]));
    filter.extend(on(
        libc::SYS_clone as u32,
        &[
            load(ARGUMENTS),
            jump_if_any(libc::CLONE_THREAD as u32, 0, 1),
            answer(ALLOW),
            answer(TRAP),
        ],
    ));
    let writes =
        (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u32;
    let reads_only = |flags_at| {
        [load(flags_at), jump_if_any(writes, 0, 1), answer(errno(libc::EACCES)), answer(ALLOW)]
    };
    #[cfg(target_arch = "x86_64")]
    filter.extend(on(libc::SYS_open as u32, &reads_only(ARGUMENTS + 8)));
    filter.extend(on(libc::SYS_openat as u32, &reads_only(ARGUMENTS + 16)));
    // For abort(), which signals its own process.
    filter.extend(on(
        libc::SYS_tgkill as u32,
        &[load(ARGUMENTS), jump_if_is(std::process::id(), 0, 1), answer(ALLOW), answer(TRAP)],
    ));
    filter.extend(on(
        libc::SYS_prlimit64 as u32,
        &[load(ARGUMENTS), jump_if_is(0, 0, 1), answer(ALLOW), answer(TRAP)],
    ));
    filter.extend(on(
        libc::SYS_prctl as u32,
        &[load(ARGUMENTS), jump_if_is(libc::PR_SET_NAME as u32, 0, 1), answer(ALLOW), answer(TRAP)],
    ));
    filter.extend(on(
        libc::SYS_ioctl as u32,
        &[
            load(ARGUMENTS + 8),
            jump_if_is(libc::FIOCLEX as u32, 1, 0),
            jump_if_is(libc::FIONBIO as u32, 0, 1),
            answer(ALLOW),
            answer(errno(libc::ENOTTY)),
        ],
    ));
    filter.push(answer(TRAP));
    filter
}

/// The compiler's filter: the listed system calls fail with an error.
pub(crate) fn of_compiler() -> Vec<sock_filter> {
    let mut filter = beginning();
    for &call in NOT_OF_COMPILER {
        filter.extend(on(call as u32, &[answer(errno(libc::EPERM))]));
    }
    filter.push(answer(ALLOW));
    filter
}

/// Instructions that reject system calls of other architectures and then load the number of the
/// system call.
fn beginning() -> Vec<sock_filter> {
    vec![
        load(ARCHITECTURE_AT),
        jump_if_is(ARCHITECTURE, 1, 0),
        answer(TRAP),
        load(NUMBER),
        jump_if_least(X32_BIT, 0, 1),
        answer(TRAP),
    ]
}

/// Instructions that continue if the C library, the loader or the vDSO made the system call, and
/// raise SIGSYS otherwise.
fn from_library() -> Vec<sock_filter> {
    let ranges: Vec<(u64, u64)> = library_code();
    // For each range: compare the high word and skip the range if it differs; compare the low word
    // with begin and end; jump past the final trap if it is inside.
    let mut filter = Vec::new();
    for (at, &(begin, end)) in ranges.iter().enumerate() {
        let left = 6 * (ranges.len() - 1 - at) as u8;
        filter.extend([
            load(INSTRUCTION + 4),
            jump_if_is((begin >> 32) as u32, 0, 4),
            load(INSTRUCTION),
            jump_if_least(begin as u32, 0, 2),
            jump_if_least(end as u32, 1, 0),
            jump_always(left + 1),
        ]);
    }
    filter.push(answer(TRAP));
    filter
}

/// Address ranges of the code of the C library, the loader and the vDSO; no range crosses a 4 GiB
/// boundary.
fn library_code() -> Vec<(u64, u64)> {
    /// One address within each of these objects: the function `openat`, the loader's base and the
    /// vDSO.
    fn wanted() -> [u64; 3] {
        // SAFETY: the calls have no preconditions.
        unsafe {
            [
                libc::openat as *const () as u64,
                libc::getauxval(libc::AT_BASE),
                libc::getauxval(libc::AT_SYSINFO_EHDR),
            ]
        }
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description, and `found` is the vector below.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<(u64, u64)>>()) };
        // SAFETY: the loader has that many headers at this address.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let segment = |header: &libc::Elf64_Phdr| {
            let begin = info.dlpi_addr + header.p_vaddr;
            (begin, begin + header.p_memsz)
        };
        let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let has =
            |address| loaded().map(segment).any(|(begin, end)| (begin..end).contains(&address));
        if wanted().into_iter().any(has) {
            let code = loaded().filter(|header| header.p_flags & libc::PF_X != 0);
            found.extend(code.map(segment).flat_map(|(begin, end)| split(begin, end)));
        }
        0
    }
    let mut found: Vec<(u64, u64)> = Vec::new();
    // SAFETY: the callback gets the vector, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut found).cast()) };
    found
}

/// Splits an address range at a 4 GiB boundary.
fn split(begin: u64, end: u64) -> Vec<(u64, u64)> {
    let edge = ((begin >> 32) + 1) << 32;
    if end < edge { vec![(begin, end)] } else { vec![(begin, edge - 1), (edge, end)] }
}

// ---- instructions

const fn instruction(code: u32, value: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: yes, jf: no, k: value }
}

const fn load(at: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0)
}

const fn answer(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

/// Skips `yes` instructions if the loaded value equals the constant, and `no` instructions
/// otherwise.
const fn jump_if_is(value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, yes, no)
}

const fn jump_if_least(value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, value, yes, no)
}

const fn jump_if_any(bits: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, yes, no)
}

const fn jump_always(over: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JA, over as u32, 0, 0)
}

/// Executes the instructions `then` for system calls of this number, which must be loaded; `then`
/// ends with an action.
fn on(call: u32, then: &[sock_filter]) -> Vec<sock_filter> {
    let mut block = vec![jump_if_is(call, 0, then.len() as u8)];
    block.extend_from_slice(then);
    block
}
