//! Every lint on a kernel with its fault planted, and on one without.

use crate::text::samples::{COMPILED, WITHOUT_FLAGS, kernel, text};
use ptx::{
    KernelSpec, Table,
    lint::{Lint, check},
    parse,
};

fn table() -> Table {
    let name = "kernel".to_owned();
    Table { kernels: vec![KernelSpec { name, block: [64, 2, 1], min_blocks: 3, barriers: 1 }] }
}

const BOUNDS: &str = ".maxntid 64, 2, 1\n.minnctapersm 3";
const CLEAN: &str = "ld.param.b64 %rd1, [src];\nld.global.b32 %r1, [%rd1];\nbar.sync 0;\nst.shared.b32 [tile], %r1;";

/// The lints that a kernel breaks, with the line of each.
fn broken(directives: &str, code: &str) -> Vec<(Lint, String)> {
    // A function to call, on a line that is there without it.
    let text = text(directives, code).replace("tile[1024];", "tile[1024]; .func helper() { ret; }");
    let findings = check(&parse(&text).unwrap(), &table());
    findings
        .into_iter()
        .map(|finding| (finding.lint, text.lines().nth(finding.line as usize - 1).unwrap().to_owned()))
        .collect()
}

#[test]
fn a_clean_kernel_passes() {
    assert_eq!(broken(BOUNDS, CLEAN), []);
}

#[test]
fn each_planted_fault_is_found_at_its_line() {
    for (lint, line) in [
        (Lint::GenericAccess, "ld.b32 %r2, [%rd1];"),
        (Lint::GenericAccess, "st.v2.b32 [%rd1], {%r2, %r3};"),
        (Lint::GenericAccess, "atom.add.u32 %r2, [%rd1], 1;"),
        (Lint::GenericAccess, "red.gpu.add.u32 [%rd1], 1;"),
        (Lint::LocalDepot, ".local .align 16 .b8 __local_depot0[64];"),
        (Lint::Call, "call.uni helper, ();"),
        (Lint::Trap, "trap;"),
        (Lint::Refused, "add.u32 %r2, %r1, %rd1;"),
        (Lint::Refused, "st.param.b32 [n], %r1;"),
        (Lint::Refused, "@%r1 mov.b32 %r2, 1;"),
        (Lint::UnknownOpcode, "frobnicate.b32 %r2, %r1;"),
        (Lint::UnknownOpcode, "add.s33 %r2, %r1, %r1;"),
    ] {
        // Before the rest, guarded by nothing; a trap ends the kernel, so it goes last.
        let code = if lint == Lint::Trap { format!("{CLEAN}\nret;\n{line}") } else { format!("{line}\n{CLEAN}") };
        assert_eq!(broken(BOUNDS, &code), [(lint, line.to_owned())], "{line}");
    }
}

#[test]
fn products_of_words_by_64_bits_are_found_whatever_path_the_words_took() {
    let words = "cvt.u64.u32 %rd2, %r1;\nmov.b64 %rd3, 0;";
    let copied = "@%p1 mov.b64 %rd3, %rd2;\nL1:\nmov.b64 %rd4, %rd3;\nmov.b64 %rd3, %rd4;\n@%p1 bra L1;";
    for (code, product, is_found) in [
        ("", "mul.lo.s64 %rd5, %rd2, %rd2;", true),
        ("", "mad.lo.s64 %rd5, %rd2, %rd3, %rd1;", true),
        (copied, "mul.lo.u64 %rd5, %rd3, %rd4;", true),
        ("and.b64 %rd4, %rd1, 2147483647;", "mul.lo.s64 %rd5, %rd2, %rd4;", true),
        ("selp.b64 %rd4, %rd2, 0, %p1;", "mul.lo.s64 %rd5, %rd2, %rd4;", true),
        ("shr.u64 %rd4, %rd1, 32;", "mul.lo.s64 %rd5, %rd2, %rd4;", true),
        ("ld.global.u32 %rd4, [%rd1];", "mul.lo.s64 %rd5, %rd2, %rd4;", true),
        // A factor of more than 32 bits on one path, a constant, and the instruction that should be there.
        ("@%p1 mov.b64 %rd3, %rd1;", "mul.lo.s64 %rd5, %rd2, %rd3;", false),
        ("mov.b64 %rd3, 4294967296;", "mul.lo.s64 %rd5, %rd2, %rd3;", false),
        ("and.b64 %rd4, %rd1, -1;", "mul.lo.s64 %rd5, %rd2, %rd4;", false),
        ("shr.u64 %rd4, %rd1, 31;", "mul.lo.s64 %rd5, %rd2, %rd4;", false),
        ("ld.global.s32 %rd4, [%rd1];", "mul.lo.s64 %rd5, %rd2, %rd4;", false),
        ("", "mul.lo.s64 %rd5, %rd2, 12;", false),
        ("", "mul.lo.s64 %rd5, %rd2, %rd1;", false),
        ("", "mul.lo.s64 %rd5, %rd1, %rd2;", false),
        ("", "mul.wide.u32 %rd5, %r1, %r1;", false),
    ] {
        let found = broken(BOUNDS, &format!("{CLEAN}\n{words}\n{code}\n{product}"));
        let expected = is_found.then(|| (Lint::WideProduct, product.to_owned()));
        assert_eq!(found, Vec::from_iter(expected), "{code} {product}");
    }
}

#[test]
fn divergent_collectives_are_found() {
    let code = format!("mov.u32 %r2, %tid.x;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L1;\n{CLEAN}\nL1:");
    assert_eq!(broken(BOUNDS, &code), [(Lint::DivergentCollective, "bar.sync 0;".to_owned())]);
}

#[test]
fn barriers_are_counted() {
    let entry = ".visible .entry kernel(.param .u64 src, .param .u64 dst, .param .u32 n)".to_owned();
    for code in ["bar.sync 0;\nbar.sync 0;", "bar.sync 1, 64;\nbar.arrive 1, 64;", "bar.warp.sync -1;", ""] {
        assert_eq!(broken(BOUNDS, code), [(Lint::BarrierCount, entry.clone())], "{code}");
    }
    for code in ["barrier.sync.aligned 0;", "bar.red.popc.u32 %r1, 0, %p1;", "bar.sync 0;\nbar.warp.sync -1;"] {
        assert_eq!(broken(BOUNDS, code), [], "{code}");
    }
}

#[test]
fn launch_bounds_must_be_those_of_the_table() {
    for (directives, expected) in [
        ("", 2),
        (".maxntid 64, 2, 1", 1),
        (".minnctapersm 3", 1),
        (".maxntid 64, 1, 1\n.minnctapersm 3", 1),
        (".maxntid 64, 2, 1\n.minnctapersm 2", 1),
        (".reqntid 64, 2\n.minnctapersm 3", 0),
    ] {
        let found = broken(directives, CLEAN);
        assert_eq!(found.len(), expected, "{directives}: {found:?}");
        assert!(found.iter().all(|(lint, _)| *lint == Lint::LaunchBounds));
    }
}

#[test]
fn table_and_module_list_the_same_kernels() {
    let mut wrong = table();
    wrong.kernels[0].name = "other".to_owned();
    let found: Vec<_> = check(&kernel("bar.sync 0;"), &wrong).into_iter().map(|f| (f.lint, f.kernel, f.line)).collect();
    assert_eq!(found, [(Lint::Unlisted, "kernel".to_owned(), 5), (Lint::Unlisted, "other".to_owned(), 0)]);
}

#[test]
fn compiled_kernels() {
    let lints = |text: &str, kernel: &str| {
        let mut lints: Vec<_> = check(&parse(text).unwrap(), &Table::default())
            .into_iter()
            .filter(|finding| finding.kernel.contains(kernel) && finding.lint != Lint::Unlisted)
            .map(|finding| finding.lint)
            .collect();
        lints.sort();
        lints.dedup();
        lints
    };
    assert_eq!(lints(COMPILED, "m31_axpy"), []);
    assert_eq!(lints(COMPILED, "guarded_barrier"), []);
    assert_eq!(lints(COMPILED, "depot"), [Lint::LocalDepot]);
    assert_eq!(lints(COMPILED, "generic_fill"), [Lint::GenericAccess]);
    assert_eq!(lints(COMPILED, "checked_lookup"), [Lint::Trap]);
    assert_eq!(lints(WITHOUT_FLAGS, "checked_lookup"), [Lint::Call, Lint::Trap]);
    assert_eq!(lints(WITHOUT_FLAGS, "guarded_barrier"), [Lint::DivergentCollective]);
    assert!(lints(WITHOUT_FLAGS, "panic_bounds_check").contains(&Lint::PanicSymbol));
}

#[test]
fn findings_read_well() {
    let module = parse(&text(BOUNDS, "bar.sync 0;\nst.b32 [%rd1+4], %r1;")).unwrap();
    let found = check(&module, &table());
    assert_eq!(found[0].to_string(), "line 13: kernel: generic-access: `st.b32 [%rd1+4], %r1;`");
    let mut table = table();
    table.kernels[0].min_blocks = 1;
    let parted = "mov.u32 %r2, %tid.x;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L1;\nbar.sync 0;\nbar.arrive 1, 64;\nL1:";
    let found = check(&parse(&text(".reqnctapercluster 2", parted)).unwrap(), &table);
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "line 5: kernel: refused: `.reqnctapercluster` needs PTX 7.8, the module has 7.0",
            "line 14: kernel: divergent-collective: `bar.sync 0;` joins the whole block, but lanes may reach it apart",
            "line 15: kernel: divergent-collective: `bar.arrive 1, 64;` joins whole warps, but lanes may reach it \
             apart",
            "line 5: kernel: barrier-count: expected 1 barriers, got 2",
            "line 5: kernel: launch-bounds: expected threads [64, 2, 1], got none",
            "line 5: kernel: launch-bounds: expected 1 blocks per multiprocessor, got 0",
        ]
    );
}
