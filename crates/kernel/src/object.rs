//! Loads an object and registers its table of hooks in the kernel.

use std::collections::BTreeMap;
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, Link, MapCore, MapType, Object, ObjectBuilder, OpenObject};

use crate::KernelName;
use crate::layout::{name_bytes, parameter_bytes, seed_bytes};
use crate::protocol::{Refusal, RefusalKind};
use crate::recording::NOT_RECORDING;
use crate::refusal::start_listening;

/// A registered algorithm; dropping it unregisters the algorithm unless it is pinned, and sockets
/// that already use it continue.
pub(crate) struct Registered {
    pub(crate) link: Link,
    pub(crate) object: Object,
}

/// Verifies and registers the algorithm of an object under a name.
///
/// # Errors
/// Returns an error with the kernel's reason.
pub(crate) fn register(
    path: &Path,
    name: &KernelName,
    parameters: &BTreeMap<String, u32>,
    seed: Option<u64>,
) -> Result<Registered, Refusal> {
    start_listening();
    let mut open =
        ObjectBuilder::default().open_file(path).map_err(|error| Refusal::not_opened(&error))?;
    set_values(&mut open, name, parameters, seed)?;
    let mut object = open.load().map_err(|error| Refusal::not_loaded(&error))?;
    let mut table = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .ok_or_else(|| Refusal::new(RefusalKind::Object, NO_TABLE))?;
    let link = table.attach_struct_ops().map_err(|error| Refusal::not_attached(&error, name))?;
    Ok(Registered { link, object })
}

const NO_TABLE: &str = "the object has no table of hooks; its source file must end with \
    CC_OPS(...)";

/// Writes name, parameters and seed into an opened object before it is loaded.
fn set_values(
    open: &mut OpenObject,
    name: &KernelName,
    parameters: &BTreeMap<String, u32>,
    seed: Option<u64>,
) -> Result<(), Refusal> {
    let no_table = || Refusal::new(RefusalKind::Object, NO_TABLE);
    // SAFETY: the object outlives this function, and its type information is not changed.
    let raw = unsafe { open.as_libbpf_object().as_ref() };
    let btf = Btf::from_bpf_object(raw).ok().flatten().ok_or_else(no_table)?;
    let name_at = name_bytes(&btf).ok_or_else(no_table)?;
    let mut settings = Vec::new();
    for (parameter, value) in parameters {
        let at = parameter_bytes(&btf, parameter).ok_or_else(|| {
            let message = format!("the algorithm has no parameter \"{parameter}\"");
            Refusal::new(RefusalKind::Parameter, message)
        })?;
        settings.push((at, value.to_le_bytes().to_vec()));
    }
    if let Some(seed) = seed {
        let at =
            seed_bytes(&btf).ok_or_else(|| Refusal::new(RefusalKind::Object, NOT_RECORDING))?;
        settings.push((at, seed.to_le_bytes().to_vec()));
    }
    let mut is_named = false;
    for mut map in open.maps_mut() {
        if map.map_type() == MapType::StructOps {
            let bytes = map.initial_value_mut().and_then(|bytes| bytes.get_mut(name_at.clone()));
            let bytes = bytes.ok_or_else(no_table)?;
            bytes.fill(0);
            bytes[..name.as_str().len()].copy_from_slice(name.as_str().as_bytes());
            is_named = true;
        } else if map.name().to_string_lossy().ends_with(".rodata") {
            let bytes = map.initial_value_mut().unwrap_or_default();
            for (at, value) in &settings {
                bytes.get_mut(at.clone()).ok_or_else(no_table)?.copy_from_slice(value);
            }
        }
    }
    if is_named { Ok(()) } else { Err(no_table()) }
}
