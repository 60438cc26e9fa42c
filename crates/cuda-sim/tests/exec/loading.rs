//! Rejections at load, with the reason: a text that loads runs to the end of every instruction in it.

use cuda_sim::exec::{FaultKind, Grid, LoadError, Options, Program};
use ptx::ParseErrorKind;

use crate::exec::rig::{in_place, memory, module, run};

const HEAD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

fn refused(text: &str) -> LoadError {
    match Program::load(text) {
        Ok(_) => panic!("loaded:\n{text}"),
        Err(error) => error,
    }
}

/// Line, instruction and reason of a refused instruction.
fn unsupported(text: &str) -> (u32, String, String) {
    match refused(text) {
        LoadError::Unsupported { line, text, reason } => (line, text, reason),
        other => panic!("{other}"),
    }
}

#[test]
fn texts_that_are_not_ptx_are_refused() {
    for text in ["", "{\"module\": \"fss\"}", "\u{7f}ELF", ".version 7.0", "int main() { return 0; }", "\0\0\0\0"] {
        assert!(matches!(refused(text), LoadError::Parse(_)), "{text}");
    }
    assert_eq!(refused(&HEAD.replace("64", "32")), LoadError::AddressSize(32));
}

#[test]
fn what_the_assembler_refuses_is_refused_with_its_line_and_the_reason() {
    for (instruction, expected) in [
        (
            "add.u32 %r0, %r1, %d2;",
            "operand 3: expected an integer register of 32 bits or such a number, got `%d2` of type .b64",
        ),
        (
            "mov.b64 %r0, %d0;",
            "operand 1: expected a register of 64 bits, or its parts in braces, got `%r0` of type .b32",
        ),
        ("bar.sync 16;", "operand 1: expected an integer register of 32 bits, or a barrier from 0 to 15, got `16`"),
        ("st.param.u64 [p0], %d0;", "operand 1: expected a place in .param memory, got `[p0]`"),
        ("add.u32 %r0, %r1;", "expected 3 operands, got 2"),
        ("mov.u32 %r0, %clusterid.x;", "`%clusterid.x` needs target sm_90, the module has sm_80"),
    ] {
        // Threads need not come there.
        match refused(&module(1, &format!("ret;\n{instruction}\nret;"))) {
            LoadError::Refused { line, text, reason } => {
                assert_eq!((line, text.as_str(), reason.to_string().as_str()), (11, instruction, expected));
            }
            other => panic!("{other}"),
        }
    }
    let old = module(0, "ld.global.L1::no_allocate.u32 %r0, [%d0];\nret;").replace(".version 7.8", ".version 7.3");
    assert!(refused(&old).to_string().contains("`ld.L1::no_allocate` needs PTX 7.4, the module has 7.3"));
    let small = module(0, "redux.sync.add.u32 %r0, %r1, -1;\nret;").replace("sm_80", "sm_75");
    assert!(refused(&small).to_string().contains("`redux` needs target sm_80, the module has sm_75"));
}

#[test]
fn instructions_outside_the_table_are_refused_even_where_no_thread_comes() {
    for instruction in ["tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%d0, {%r4, %r5}];", "frobnicate.b32 %r0, %r1;"] {
        let (line, text, reason) = unsupported(&module(0, &format!("ret;\n{instruction}\nret;")));
        assert_eq!((line, text.as_str()), (11, instruction), "{reason}");
        assert!(!reason.is_empty());
    }
    for instruction in [
        "add.f128 %d0, %d1, %d2;",
        "shfl.sync.spin.b32 %r0, %r1, %r2, 31, -1;",
        "ld.nowhere.b32 %r0, [%d0];",
        "min.NaN.f16 %h0, %h1, %h2;",
        "min.xorsign.abs.f16 %h0, %h1, %h2;",
    ] {
        assert!(!unsupported(&module(0, &format!("{instruction}\nret;"))).2.is_empty(), "{instruction}");
    }
}

#[test]
fn an_instruction_of_a_called_function_is_refused_too() {
    let text = format!(
        "{HEAD}.func far() {{ .reg .b32 %r<2>; frobnicate.b32 %r0, %r1; ret; }}
         .func near() {{ call far; ret; }}
         .visible .entry k() {{ call near; ret; }}"
    );
    assert!(unsupported(&text).1.contains("frobnicate"));
}

#[test]
fn texts_of_old_and_virtual_targets_run() {
    let text = module(1, "ld.param.u64 %d0, [p0];\nst.global.u32 [%d0+(1+1)*2], 7;\nret;");
    for target in ["sm_30", "compute_52", "compute_80"] {
        let text = text.replace("sm_80", target);
        let words = in_place(&text, Grid::linear(1, 1), &[0; 2], &Options::default()).unwrap();
        assert_eq!(words, [0, 7], "{target}");
    }
    let old = module(0, "lop3.b32 %r0, %r1, %r2, %r3, 150;\nret;").replace("sm_80", "compute_37");
    assert!(refused(&old).to_string().contains("`lop3` needs target sm_50, the module has sm_37"));
}

#[test]
fn names_that_nothing_defines_are_refused() {
    for body in ["bra $nowhere;", "ld.param.u64 %d0, [p7];", "mov.u64 %d0, nothing;", "add.u32 %r0, %r1, %q2;"] {
        assert!(matches!(refused(&module(1, body)), LoadError::Parse(_) | LoadError::Unsupported { .. }), "{body}");
    }
    let kind = |text: &str| match refused(text) {
        LoadError::Parse(error) => error.kind,
        other => panic!("{other}"),
    };
    let address = format!("{HEAD}.global .u64 table[1] = {{nothing}};\n.visible .entry k() {{ ret; }}");
    assert_eq!(kind(&address), ParseErrorKind::Undefined("nothing".to_owned()));
    let twice = format!("{HEAD}.visible .entry k() {{ ret; }}\n.visible .entry k() {{ ret; }}");
    assert_eq!(kind(&twice), ParseErrorKind::Duplicate("k".to_owned()));
    let declared = format!("{HEAD}.extern .func outside();\n.visible .entry k() {{ call outside; ret; }}");
    assert!(refused(&declared).to_string().contains("expected a device function of this module, got `outside`"));
    let pointer = format!("{HEAD}.extern .global .u32 outside;\n.global .u64 table[1] = {{outside}};");
    let (variable, symbol) = ("table".to_owned(), "outside".to_owned());
    assert_eq!(refused(&pointer), LoadError::Undefined { variable, symbol });
    let elsewhere = format!(
        "{HEAD}.extern .global .u32 outside;
         .visible .entry k() {{ .reg .b32 %r<1>; ld.global.u32 %r0, [outside]; ret; }}"
    );
    assert!(refused(&elsewhere).to_string().contains("outside"));
}

#[test]
fn a_shipped_text_is_refused_wherever_it_is_cut_within_a_function() {
    const TEXT: &str = include_str!("../../../../kernels-ptx/ptx/fss.ptx");
    assert!(Program::load(TEXT).is_ok());
    for at in (40..TEXT.len()).step_by(TEXT.len() / 60) {
        let before = &TEXT[..at];
        if before.matches('{').count() > before.matches('}').count() {
            assert!(matches!(refused(before), LoadError::Parse(_)), "cut at {at}");
        }
    }
}

#[test]
fn more_local_memory_than_a_thread_can_have_is_refused_at_the_launch() {
    let said = |text: &str| match run(text, Grid::linear(1, 32), &[], &memory(), &Options::default()) {
        Err(fault) => match fault.kind {
            FaultKind::Launch { got, .. } => Some(got),
            other => panic!("{other}"),
        },
        Ok(_) => None,
    };
    let with = |bytes: u64| module(0, &format!(".local .align 4 .b8 l[{bytes}]; st.local.b32 [l], 1; ret;"));
    assert_eq!(said(&with(512 << 10)), None);
    for bytes in [(512 << 10) + 16, 4 << 30, 1 << 40] {
        assert_eq!(said(&with(bytes)), Some(bytes));
    }
    // The arrays of called functions count; a recursion is followed as far as there is room.
    let callee = |body: &str| {
        format!(
            "{HEAD}.func far() {{ .local .align 16 .b8 l[300000]; {body} ret; }}
             .visible .entry k() {{ .local .align 16 .b8 l[300000]; call far; ret; }}"
        )
    };
    assert_eq!(said(&callee("")), Some(600_000));
    assert!(Program::load(&callee("call far;").replace("300000", "100000")).is_ok());
}

#[test]
fn kernels_are_described_by_their_declarations() {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u32 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u16 d)
         .maxntid 8, 4 {{ .shared .b8 s[3]; .shared .b8 t[2]; .local .b8 l[5]; .local .b64 m; ret; }}
         .visible .entry wide() .maxntid 2048 {{ ret; }}"
    );
    let program = Program::load(&text).unwrap();
    let kernel = program.kernel("k").unwrap();
    let parameters = [(0, 4, 4), (8, 8, 8), (16, 20, 16), (36, 2, 2)];
    let got: Vec<_> = kernel.parameters.iter().map(|p| (p.offset, p.bytes, p.align)).collect();
    assert_eq!(got, parameters);
    assert_eq!((kernel.static_shared, kernel.local, kernel.max_threads), (5, 13, 32));
    assert_eq!(program.kernel("wide").unwrap().max_threads, 1024);
    assert!(program.kernel("none").is_none());
}

#[test]
fn launches_are_held_to_the_limits_of_devices() {
    let body = ".shared .align 4 .b8 s[16]; ret;";
    let refused = |text: &str, grid: [u32; 3], block: [u32; 3], dynamic_shared: u32, params: &[u64]| {
        let grid = Grid { grid, block, dynamic_shared };
        match run(text, grid, params, &memory(), &Options::default()).err().map(|fault| fault.kind) {
            Some(FaultKind::Launch { quantity, got, .. }) => Some((quantity, got)),
            Some(other) => panic!("{other}"),
            None => None,
        }
    };
    let (one, text) = ([1; 3], module(0, body));
    for (grid, block, shared, expected) in [
        ([0, 1, 1], one, 0, Some(("grid", 0))),
        ([1, 0, 1], one, 0, Some(("grid", 0))),
        ([1, 1, 0], one, 0, Some(("grid", 0))),
        ([1 << 31, 1, 1], one, 0, Some(("grid", 1 << 31))),
        ([1, 65_536, 1], one, 0, Some(("grid", 65_536))),
        ([1, 1, 65_536], one, 0, Some(("grid", 65_536))),
        ([1, 65_535, 1], one, 0, None),
        (one, [0, 1, 1], 0, Some(("block", 0))),
        (one, [1, 0, 1], 0, Some(("block", 0))),
        (one, [1, 1, 0], 0, Some(("block", 0))),
        (one, [1025, 1, 1], 0, Some(("block", 1025))),
        (one, [1, 1025, 1], 0, Some(("block", 1025))),
        (one, [1, 1, 65], 0, Some(("block", 65))),
        (one, [1024, 1, 1], 0, None),
        (one, [1, 1024, 1], 0, None),
        (one, [16, 1, 64], 0, None),
        (one, [25, 41, 1], 0, Some(("threads of a block", 1025))),
        (one, one, 227 * 1024 - 16, None),
        (one, one, 227 * 1024 - 15, Some(("shared memory", 227 * 1024 + 1))),
    ] {
        assert_eq!(refused(&text, grid, block, shared, &[]), expected, "{grid:?} {block:?} {shared}");
    }
    let bounded = text.replacen("k()\n", "k()\n.maxntid 33\n", 1);
    assert_eq!(refused(&bounded, one, [33, 1, 1], 0, &[]), None);
    assert_eq!(refused(&bounded, one, [34, 1, 1], 0, &[]), Some(("threads of a block", 34)));
    assert_eq!(refused(&text, one, one, 0, &[1]), Some(("parameters", 8)));
    assert_eq!(refused(&module(2, body), one, one, 0, &[1]), Some(("parameters", 8)));
    assert_eq!(refused(&module(2, body), one, one, 0, &[1, 2]), None);
    let renamed = text.replace(".entry k", ".entry other");
    let fault = run(&renamed, Grid::linear(1, 1), &[], &memory(), &Options::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSuchKernel);
}
