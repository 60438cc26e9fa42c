//! Single faults are found where they are and take away what they say.

use crate::text::samples::{COMPILED, kernel, text};
use ptx::{
    mutate::{Fault, mutations},
    parse, print,
};

/// Faults and instructions of one kernel of the compiled sample.
fn faults(name: &str) -> Vec<(Fault, String)> {
    let found = mutations(&parse(COMPILED).unwrap());
    found.into_iter().filter(|mutation| mutation.function == name).map(|m| (m.fault, m.text)).collect()
}

#[test]
fn compiled_kernels_have_these() {
    let expect = |name: &str, expected: &[Fault]| {
        let found: Vec<_> = faults(name).into_iter().map(|(fault, _)| fault).collect();
        assert_eq!(found, expected, "{name}");
    };
    expect("m31_axpy", &[Fault::Guard]);
    expect("guarded_barrier", &[Fault::Guard, Fault::Barrier, Fault::Guard]);
    expect("staged_copy", &[Fault::Guard, Fault::Commit, Fault::Wait]);
    // Neither the test of a lane against a constant nor the test of the loop counter is a bounds guard.
    expect("block_sum", &[Fault::Guard, Fault::Fence, Fault::Barrier]);
    expect("strided_sum", &[Fault::Guard]);
    expect("depot", &[]);
}

#[test]
fn each_changes_one_line() {
    let module = parse(COMPILED).unwrap();
    let before = print(&module);
    for mutation in mutations(&module) {
        let after = print(&mutation.apply(&module));
        parse(&after).unwrap();
        let gone: Vec<_> = before.lines().filter(|line| line.trim() == mutation.text).collect();
        let left: Vec<_> = after.lines().filter(|line| line.trim() == mutation.text).collect();
        assert_eq!(left.len() + 1, gone.len(), "{mutation:?}");
        let shrunk = before.lines().count() - after.lines().count();
        assert!(shrunk <= 1, "{mutation:?}");
        let source = COMPILED.lines().nth(mutation.line as usize - 1).unwrap();
        assert_eq!(source.split_whitespace().next(), mutation.text.split_whitespace().next());
    }
}

#[test]
fn a_guard_that_skips_is_removed_and_one_that_enters_is_made_unconditional() {
    let index = "mov.u32 %r1, %tid.x;\nld.param.b32 %r2, [n];\n";
    let skips = kernel(&format!("{index}setp.ge.u32 %p1, %r1, %r2;\n@%p1 bra L1;\nst.shared.b32 [tile], %r1;\nL1:"));
    let mutant = print(&mutations(&skips)[0].apply(&skips));
    assert!(!mutant.contains("bra"), "{mutant}");
    let enters = kernel(&format!(
        "{index}setp.lt.u32 %p1, %r1, %r2;\n@%p1 bra L1;\nbra.uni L2;\nL1:\nst.shared.b32 [tile], %r1;\nL2:"
    ));
    let mutant = print(&mutations(&enters)[0].apply(&enters));
    assert!(mutant.contains("\tbra L1;"), "{mutant}");
    let leaves = kernel(&format!("{index}setp.ge.u32 %p1, %r1, %r2;\n@%p1 ret;\nst.shared.b32 [tile], %r1;"));
    assert_eq!(print(&mutations(&leaves)[0].apply(&leaves)).matches("ret;").count(), 1);
    let predicated = kernel(&format!("{index}setp.lt.u32 %p1, %r1, %r2;\n@%p1 st.shared.b32 [tile], %r1;"));
    assert!(print(&mutations(&predicated)[0].apply(&predicated)).contains("\tst.shared.b32"));
}

#[test]
fn loops_and_float_tests_are_no_guards() {
    let index = "mov.u32 %r1, %tid.x;\nld.param.b32 %r2, [n];\n";
    let back = format!("{index}L1:\nadd.s32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %r2;\n@%p1 bra L1;");
    assert_eq!(mutations(&kernel(&back)), []);
    let float = format!("{index}setp.lt.f32 %p1, %r1, %r2;\n@%p1 bra L1;\nst.shared.b32 [tile], %r1;\nL1:");
    assert_eq!(mutations(&kernel(&float)), []);
    for comparison in ["eq", "ne"] {
        let equal =
            format!("{index}setp.{comparison}.u32 %p1, %r1, %r2;\n@%p1 bra L1;\nst.shared.b32 [tile], %r1;\nL1:");
        assert_eq!(mutations(&kernel(&equal)), [], "{comparison}");
    }
    let both = format!(
        "{index}setp.ge.u32 %p1, %r1, %r2;\n@%p1 bra L1;\nadd.s32 %r3, %r3, 1;\nbra.uni L2;\nL1:\n\
         st.shared.b32 [tile], %r3;\nL2:"
    );
    assert_eq!(mutations(&kernel(&both)), [], "either side does something");
}

#[test]
fn guards_may_lead_to_the_end_of_the_thread() {
    let index = "mov.u32 %r1, %tid.x;\nld.param.b32 %r2, [n];\nsetp.lt.u32 %p1, %r1, %r2;";
    let leaves = kernel(&format!("{index}\n@%p1 bra L1;\nret;\nL1:\nst.shared.b32 [tile], %r1;"));
    let ends =
        text("", &format!("{index}\n@!%p1 bra L1;\nst.shared.b32 [tile], %r1;\nL1:")).replace("\nret;\n}", "\n}");
    for (module, gone) in [(leaves, "@%p1 bra L1;"), (parse(&ends).unwrap(), "@!%p1 bra L1;")] {
        let found = mutations(&module);
        assert_eq!(found.iter().map(|m| (m.fault, &*m.text)).collect::<Vec<_>>(), [(Fault::Guard, gone)]);
        assert!(!print(&found[0].apply(&module)).contains(gone));
    }
}

#[test]
fn every_kind_of_synchronisation() {
    let code = "bar.sync 0;\nbar.arrive 1, 64;\nbarrier.sync 2;\nbar.warp.sync -1;\nmembar.gl;\nfence.acq_rel.gpu;\n\
                cp.async.commit_group;\ncp.async.wait_group 1;\ncp.async.wait_all;\nbar.red.popc.u32 %r1, 0, %p1;";
    let found: Vec<_> = mutations(&parse(&text("", code)).unwrap()).into_iter().map(|m| m.fault).collect();
    use Fault::{Barrier, Commit, Fence, Wait, WarpBarrier};
    assert_eq!(found, [Barrier, Barrier, Barrier, WarpBarrier, Fence, Fence, Commit, Wait, Wait]);
}
