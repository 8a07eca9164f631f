//! Which files a process may use: Landlock (Linux 5.13), with the network and signals of later ABIs.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};

/// What is asked for; an older kernel gives what it has.
const ABI_ASKED: ABI = ABI::V6;

/// Whether the running kernel has Landlock, and it is not disabled.
pub(crate) fn is_available() -> bool {
    const VERSION: u32 = 1; // LANDLOCK_CREATE_RULESET_VERSION
    // SAFETY: asks for the version alone; nothing is read or written.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) > 0 }
}

/// Rules by which files below `readable` may be read and executed, those below `writable` changed,
/// and no other file opened. Paths that do not exist are left out.
pub(crate) fn rules(readable: &[PathBuf], writable: &[PathBuf]) -> io::Result<RulesetCreated> {
    let all: BitFlags<AccessFs> = AccessFs::from_all(ABI_ASKED);
    let build = || {
        Ruleset::default()
            .handle_access(all)?
            .handle_access(AccessNet::from_all(ABI_ASKED))?
            .scope(Scope::from_all(ABI_ASKED))?
            .create()?
            .add_rules(path_beneath_rules(readable, AccessFs::from_read(ABI_ASKED)))?
            .add_rules(path_beneath_rules(writable, all))
    };
    build().map_err(io::Error::other)
}
