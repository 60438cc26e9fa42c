//! Modifiers in an order other than the table's.
//!
//! The assembler takes the modifiers of an opcode in any order, with few exceptions: what belongs
//! to the name stays with it, and types, layouts and state spaces keep their order among
//! themselves.

use std::{collections::HashMap, sync::OnceLock};

use super::FORMS;
use crate::ast::{Space, Type};

/// What belongs to the name of an instruction.
const NAMES: &[(&str, &[&str])] = &[
    ("bar", &["cta", "sync", "arrive", "red", "warp"]),
    ("barrier", &["cta", "arrive", "red"]),
    ("brx", &["idx"]),
    ("cp", &["async", "commit_group", "wait_group", "wait_all"]),
    ("cvta", &["to"]),
    ("div", &["full"]),
    ("mad", &["lo", "hi", "wide"]),
    ("mul", &["lo", "hi", "wide"]),
    ("shf", &["l", "r"]),
];

/// The admitted opcode that differs from `opcode` only in the order of its modifiers.
///
/// It is `opcode` itself if that is admitted.
#[must_use]
pub fn canonical(opcode: &str) -> Option<&'static str> {
    static BY_KEY: OnceLock<HashMap<String, String>> = OnceLock::new();
    let by_key = BY_KEY.get_or_init(|| {
        let opcodes = FORMS.iter().flat_map(super::Form::opcodes);
        opcodes.map(|opcode| (key(&opcode), opcode)).collect()
    });
    by_key.get(&key(opcode)).map(String::as_str)
}

/// The same text for opcodes that differ in an order which does not matter.
fn key(opcode: &str) -> String {
    let mut parts = opcode.split('.').peekable();
    let base = parts.next().unwrap_or_default();
    let of_name = NAMES.iter().find(|(name, _)| *name == base).map_or(&[][..], |(_, parts)| *parts);
    let mut key = vec![base];
    while let Some(part) = parts.next_if(|part| of_name.contains(part)) {
        key.push(part);
    }
    let (mut any, mut kept) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for part in parts {
        let kind = if Type::from_name(part).is_some() {
            Some(0)
        } else if matches!(part, "row" | "col") {
            Some(1)
        } else {
            Space::from_name(part).map(|_| 2)
        };
        kind.map_or(&mut any, |kind| &mut kept[kind]).push(part);
    }
    any.sort_unstable();
    // The name ends where the first modifier starts, so that `mul.lo.u16` and `mul.u16.lo` differ.
    key.push("");
    key.extend(any);
    key.extend(kept.into_iter().flatten());
    key.join(".")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{FORMS, canonical, key};

    #[test]
    fn every_opcode_of_the_table_has_a_key_of_its_own() {
        let opcodes: HashSet<String> = FORMS.iter().flat_map(|form| form.opcodes()).collect();
        assert_eq!(opcodes.iter().map(|opcode| key(opcode)).collect::<HashSet<_>>().len(), opcodes.len());
        assert!(opcodes.iter().all(|opcode| canonical(opcode) == Some(opcode)));
    }

    #[test]
    fn modifiers_take_any_order_but_names_and_types_do_not() {
        for (other, opcode) in [
            ("add.f32.sat.rn", "add.rn.sat.f32"),
            ("ld.b32.v2.nc.global", "ld.global.nc.v2.b32"),
            ("setp.u32.and.lt", "setp.lt.and.u32"),
            ("cvt.s32.rzi.f32", "cvt.rzi.s32.f32"),
            ("atom.add.u32.global.gpu", "atom.gpu.global.add.u32"),
            ("cp.async.shared.cg.global", "cp.async.cg.shared.global"),
            ("bar.red.u32.popc", "bar.red.popc.u32"),
            ("barrier.cta.aligned.sync", "barrier.cta.sync.aligned"),
        ] {
            assert_eq!(canonical(other), Some(opcode), "{other}");
        }
        for other in [
            "mul.u32.lo",
            "cvt.rzi.f32.s32.f32",
            "bar.sync.cta",
            "cp.async.cg.global.shared",
            "cvta.shared.to.u64",
            "barrier.aligned.arrive",
            "shf.wrap.l.b32",
            "add.add.u32",
            "add",
            "",
            "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
        ] {
            assert_eq!(canonical(other), None, "{other}");
        }
    }
}
