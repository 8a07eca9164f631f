//! Where an object has the name of its algorithm and its parameters, by the object's own type
//! information.

use libbpf_rs::ReferencesType;
use libbpf_rs::btf::types::{DataSec, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType};
use std::ops::Range;

/// Bytes of `name` in the table of hooks.
pub(crate) fn name_bytes(btf: &Btf<'_>) -> Option<Range<usize>> {
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops")?;
    let offset = member_offset(&ops, "name")?;
    Some(offset..offset + NAME_BYTES)
}

/// Bytes of a parameter in `.rodata`.
pub(crate) fn parameter_bytes(btf: &Btf<'_>, parameter: &str) -> Option<Range<usize>> {
    let section: DataSec<'_> = btf.type_by_name(".rodata")?;
    let (start, block) = section.iter().find_map(|entry| {
        let variable: Var<'_> = btf.type_by_id(entry.ty)?;
        let is_ours = variable.name()? == "cc_parameters";
        is_ours.then_some((entry.offset as usize, variable.referenced_type()))
    })?;
    let block: BtfType<'_> = block.skip_mods_and_typedefs();
    let block = Struct::try_from(block).ok()?;
    let at = start + member_offset(&block, parameter)?;
    Some(at..at + size_of::<u32>())
}

fn member_offset(of: &Struct<'_>, name: &str) -> Option<usize> {
    use libbpf_rs::btf::types::MemberAttr;

    let member = of.iter().find(|member| member.name.is_some_and(|it| it == name))?;
    match member.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// `TCP_CA_NAME_MAX`.
const NAME_BYTES: usize = 16;
