//! Restricts file access with Landlock (Linux 5.13), and network access and signals with later
//! versions of Landlock.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};

/// The requested version of Landlock; an older kernel applies the restrictions that it supports.
const ABI_ASKED: ABI = ABI::V6;

/// Whether the running kernel has Landlock enabled.
pub(crate) fn is_available() -> bool {
    const VERSION: u32 = 1; // LANDLOCK_CREATE_RULESET_VERSION
    // SAFETY: only queries the version; no memory is read or written.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) > 0 }
}

/// Rules that permit reading and executing files below `readable`, any access below `writable`, and
/// no other access.
///
/// Paths that do not exist are ignored.
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
