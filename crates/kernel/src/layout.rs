//! Positions of an algorithm's name and parameters in a compiled object, from the BTF type
//! information of the object.

use libbpf_rs::ReferencesType;
use libbpf_rs::btf::types::{DataSec, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType};
use std::ops::Range;

/// Byte positions of the algorithm's `name` in the table of hooks.
pub(crate) fn name_bytes(btf: &Btf<'_>) -> Option<Range<usize>> {
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops")?;
    let offset = member_offset(&ops, "name")?;
    Some(offset..offset + NAME_BYTES)
}

/// Byte positions of a parameter in the section `.rodata`.
pub(crate) fn parameter_bytes(btf: &Btf<'_>, parameter: &str) -> Option<Range<usize>> {
    let (start, block) = constant(btf, "cc_parameters")?;
    let block = Struct::try_from(block).ok()?;
    let at = start + member_offset(&block, parameter)?;
    Some(at..at + size_of::<u32>())
}

/// Byte positions in `.rodata` of the random seed of an object compiled for recording.
pub(crate) fn seed_bytes(btf: &Btf<'_>) -> Option<Range<usize>> {
    let (start, _) = constant(btf, "cc_record_seed")?;
    Some(start..start + size_of::<u64>())
}

/// Offset and type of a constant in the section `.rodata`.
fn constant<'btf>(btf: &'btf Btf<'_>, name: &str) -> Option<(usize, BtfType<'btf>)> {
    let section: DataSec<'_> = btf.type_by_name(".rodata")?;
    section.iter().find_map(|entry| {
        let variable: Var<'_> = btf.type_by_id(entry.ty)?;
        let found = (entry.offset as usize, variable.referenced_type().skip_mods_and_typedefs());
        (variable.name()? == name).then_some(found)
    })
}

fn member_offset(of: &Struct<'_>, name: &str) -> Option<usize> {
    use libbpf_rs::btf::types::MemberAttr;

    let member = of.iter().find(|member| member.name.is_some_and(|it| it == name))?;
    match member.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// The kernel's `TCP_CA_NAME_MAX`.
const NAME_BYTES: usize = 16;
