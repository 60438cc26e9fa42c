//! The executor decodes every opcode that the lints of the kernel build admit.

use cuda_sim::exec::Program;
use ptx::opcodes::{Group, all};

/// A register of the class that a type asks for.
fn register(ty: &str, index: usize) -> String {
    let class = match ty {
        "pred" => "p",
        "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" | "bf16" => "h",
        "b64" | "u64" | "s64" | "f64" => "d",
        _ => "r",
    };
    format!("%{class}{index}")
}

/// `result` and registers `1..=count` of type `ty`.
fn same(result: &str, ty: &str, count: usize) -> String {
    let sources: Vec<_> = (1..=count).map(|index| register(ty, index)).collect();
    format!("{result}, {}", sources.join(", "))
}

fn twice_as_wide(ty: &str) -> &str {
    match ty {
        "u16" => "u32",
        "s16" => "s32",
        "u32" => "u64",
        _ => "s64",
    }
}

/// A vector of the number of registers in `.v2` or `.v4`.
fn lanes(parts: &[&str], ty: &str) -> String {
    let list = |count| (0..count).map(|index| register(ty, index)).collect::<Vec<_>>().join(", ");
    if parts.contains(&"v4") {
        format!("{{{}}}", list(4))
    } else if parts.contains(&"v2") {
        format!("{{{}}}", list(2))
    } else {
        register(ty, 0)
    }
}

/// An address in the space that the opcode names.
fn place(parts: &[&str]) -> &'static str {
    let spaces = [("param", "[input]"), ("local", "[own]"), ("const", "[fixed]"), ("shared", "[tile]")];
    spaces.iter().find(|(space, _)| parts.contains(space)).map_or("[%d8]", |(_, address)| address)
}

fn integer(parts: &[&str], ty: &str) -> String {
    let result = register(ty, 0);
    match parts[0] {
        "neg" | "abs" => same(&result, ty, 1),
        "mul" if parts[1] == "wide" => same(&register(twice_as_wide(ty), 0), ty, 2),
        "mad" if parts[1] == "wide" => {
            let wide = twice_as_wide(ty);
            format!("{}, {}", same(&register(wide, 0), ty, 2), register(wide, 3))
        }
        "mad" | "sad" => same(&result, ty, 3),
        _ => same(&result, ty, 2),
    }
}

fn bits(parts: &[&str], ty: &str) -> String {
    let result = register(ty, 0);
    match parts[0] {
        "not" | "cnot" | "brev" => same(&result, ty, 1),
        "popc" | "clz" | "bfind" => same("%r0", ty, 1),
        "shl" | "shr" => format!("{}, %r5", same(&result, ty, 1)),
        "shf" => format!("{}, %r5", same(&result, ty, 2)),
        "bfe" => format!("{}, %r5, %r6", same(&result, ty, 1)),
        "bfi" => format!("{}, %r5, %r6", same(&result, ty, 2)),
        "prmt" => "%r0, %r1, %r2, %r3".to_owned(),
        "lop3" => "%r0, %r1, %r2, %r3, 150".to_owned(),
        _ => same(&result, ty, 2),
    }
}

fn float(parts: &[&str], ty: &str) -> String {
    let result = register(ty, 0);
    match parts[0] {
        "fma" => same(&result, ty, 3),
        "testp" => same("%p0", ty, 1),
        "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => same(&result, ty, 2),
        _ => same(&result, ty, 1),
    }
}

fn memory(parts: &[&str], ty: &str) -> String {
    if parts[0] == "ld" {
        return format!("{}, {}", lanes(parts, ty), place(parts));
    }
    let address = if parts.contains(&"param") { "[argument]" } else { place(parts) };
    format!("{address}, {}", lanes(parts, ty))
}

fn atomic(parts: &[&str], ty: &str) -> String {
    match parts[0] {
        "red" => format!("{}, {}", place(parts), register(ty, 1)),
        "atom" if parts.contains(&"cas") => {
            format!("{}, {}, {}, {}", register(ty, 0), place(parts), register(ty, 1), register(ty, 2))
        }
        "atom" => format!("{}, {}, {}", register(ty, 0), place(parts), register(ty, 1)),
        _ => String::new(),
    }
}

fn sync(parts: &[&str], ty: &str) -> String {
    match parts[0] {
        "bar" | "barrier" if parts.contains(&"warp") => "-1".to_owned(),
        "bar" | "barrier" if parts.contains(&"red") => format!("{}, 0, %p1", register(ty, 0)),
        "bar" | "barrier" if parts.contains(&"arrive") => "1, 64".to_owned(),
        "bar" | "barrier" => "0".to_owned(),
        "shfl" => "%r0|%p0, %r1, 1, 31, -1".to_owned(),
        "vote" => format!("{}, %p1, -1", register(ty, 0)),
        "match" if parts[1] == "all" => format!("%r0|%p0, {}, -1", register(ty, 1)),
        "match" => format!("%r0, {}, -1", register(ty, 1)),
        "redux" => "%r0, %r1, -1".to_owned(),
        _ => "%r0".to_owned(),
    }
}

fn tensor(parts: &[&str]) -> String {
    let vector = |first: usize, count: usize| {
        let registers: Vec<_> = (first..first + count).map(|index| format!("%r{index}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    match parts[0] {
        "ldmatrix" => {
            let count = if parts.contains(&"x4") { 4 } else { 1 + usize::from(parts.contains(&"x2")) };
            format!("{}, [tile]", vector(0, count))
        }
        "mma" => {
            let half = usize::from(parts.contains(&"m16n8k8") && !parts.contains(&"tf32"));
            format!("{}, {}, {}, {}", vector(0, 4), vector(4, 4 >> half), vector(8, 2 >> half), vector(0, 4))
        }
        _ if parts.contains(&"wait_group") => "0".to_owned(),
        _ if parts.contains(&"shared") => "[tile], [%d8], 16".to_owned(),
        _ => String::new(),
    }
}

/// The operands of one instruction that uses `opcode`.
fn operands(group: Group, opcode: &str) -> String {
    let parts: Vec<_> = opcode.split('.').collect();
    let ty = parts[parts.len() - 1];
    match group {
        Group::Move => match parts[0] {
            "mov" => same(&register(ty, 0), ty, 1),
            "selp" => format!("{}, %p1", same(&register(ty, 0), ty, 2)),
            "cvta" => "%d0, %d1".to_owned(),
            _ => "%p0, %d1".to_owned(),
        },
        Group::Integer => integer(&parts, ty),
        Group::Bits => bits(&parts, ty),
        Group::Float | Group::Approx => float(&parts, ty),
        // Half floats have one result only.
        Group::Compare if ty == "f16" && parts.len() > 3 => format!("{}, %p3", same("%p0", ty, 2)),
        Group::Compare if ["and", "or", "xor"].iter().any(|combine| parts.contains(combine)) => {
            format!("{}, %p3", same("%p0|%p1", ty, 2))
        }
        Group::Compare => same("%p0", ty, 2),
        Group::Convert => {
            let result = parts[parts.len() - 2];
            same(&register(result, 0), ty, if result.ends_with("x2") { 2 } else { 1 })
        }
        Group::Memory => memory(&parts, ty),
        Group::Atomic => atomic(&parts, ty),
        Group::Control => match parts[0] {
            "bra" => "END".to_owned(),
            "brx" => "%r0, LIST".to_owned(),
            "call" => "callee, ()".to_owned(),
            _ => String::new(),
        },
        Group::Sync => sync(&parts, ty),
        Group::Tensor => tensor(&parts),
    }
}

/// A kernel of one instruction.
fn module(instruction: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.const .align 16 .b8 fixed[64];\n\
         .shared .align 16 .b8 tile[64];\n.func callee() {{ ret; }}\n\
         .visible .entry kernel(.param .align 16 .b8 input[64]) {{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n\
         .reg .b32 %r<20>;\n.reg .b64 %d<9>;\n.local .align 16 .b8 own[64];\n.param .align 16 .b8 argument[64];\n\
         LIST: .branchtargets END, END;\n{instruction};\nEND:\nret;\n}}\n"
    )
}

#[test]
fn every_admitted_opcode_decodes() {
    let mut refused = Vec::new();
    for (group, opcode) in all() {
        let instruction = format!("{opcode} {}", operands(group, &opcode));
        if let Err(error) = Program::load(&module(&instruction)) {
            refused.push(format!("{instruction}: {error}"));
        }
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}

/// The decoder separates only forms of the table.
#[test]
fn no_form_of_the_table_decodes_as_another() {
    for (_, opcode) in all() {
        let parts: Vec<_> = opcode.split('.').collect();
        let ty = parts[parts.len() - 1];
        let has = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(part));
        let is_decoded = match parts[0] {
            "fma" if ty.ends_with("x2") => false,
            "add" | "sub" | "mul" | "fma" | "div" | "sqrt" | "rcp" => !has(&["rz", "rm", "rp"]),
            "bfi" | "bfind" | "sad" => ty.ends_with("32") && !has(&["shiftamt"]) && opcode != "bfind.s32",
            "mad" => !(has(&["hi"]) && ty.ends_with("16")),
            "cvt" if has(&["rm", "rp", "rs"]) || ty != "f32" && has(&["rz"]) => false,
            "cvt" => ty == "f32" || !has(&["bf16", "bf16x2"]) || opcode == "cvt.f32.bf16",
            "ld" | "st" => ty != "b128",
            "atom" | "red" => !ty.ends_with("16"),
            "fence" => !has(&["proxy"]),
            "barrier" => !has(&["cluster"]),
            "mma" => has(&["f32"]) || opcode.contains(".m16n8k32.") && opcode.ends_with(".s8.s8.s32"),
            _ => true,
        };
        assert!(is_decoded, "{opcode}");
    }
}
