//! Launch bounds, unreachable code and names.

use crate::text::samples::{COMPILED, WITHOUT_FLAGS};
use ptx::{
    KernelSpec, Table,
    ast::Directive,
    lint::{Lint, check},
    parse, print,
    rewrite::{RewriteError, drop_unreachable, insert_launch_bounds, normalise_names, prepare},
};

fn table(names: &[&str]) -> Table {
    let spec = |name: &&str| KernelSpec { name: (*name).to_owned(), block: [128, 1, 1], min_blocks: 4, barriers: 0 };
    Table { kernels: names.iter().map(spec).collect() }
}

#[test]
fn bounds_replace_those_there() {
    let mut module = parse(COMPILED).unwrap();
    insert_launch_bounds(&mut module, &table(&["m31_axpy", "depot"])).unwrap();
    let once = print(&module);
    assert_eq!(once.matches(")\n.maxntid 128, 1, 1\n.minnctapersm 4\n{").count(), 2);
    insert_launch_bounds(&mut module, &table(&["m31_axpy", "depot"])).unwrap();
    assert_eq!(print(&module), once);
    assert!(!check(&module, &table(&["m31_axpy"])).iter().any(|finding| finding.lint == Lint::LaunchBounds));
}

#[test]
fn bounds_without_blocks_are_left_out_and_other_directives_stay() {
    let text = ".version 7.0\n.target sm_80\n.visible .entry a()\n.reqntid 7\n.maxnreg 32\n{ ret; }\n\
                .visible .entry b() { ret; }\n";
    let mut module = parse(text).unwrap();
    assert_eq!(module.functions[0].directives[0], Directive::RequiredThreads([7, 1, 1]));
    let mut table = table(&["a", "b"]);
    (table.kernels[0].min_blocks, table.kernels[1].min_blocks) = (0, 1);
    insert_launch_bounds(&mut module, &table).unwrap();
    let bounds = ["a()\n.maxntid 128, 1, 1\n.maxnreg 32\n{", "b()\n.maxntid 128, 1, 1\n.minnctapersm 1\n{"];
    assert!(bounds.iter().all(|bounds| print(&module).contains(bounds)), "{}", print(&module));
}

#[test]
fn a_kernel_that_is_missing_is_named() {
    let mut module = parse(COMPILED).unwrap();
    let before = print(&module);
    let error = insert_launch_bounds(&mut module, &table(&["depot", "absent"])).unwrap_err();
    assert_eq!(error, RewriteError::Missing("absent".to_owned()));
    assert_eq!(print(&module), before);
}

const REACH: &str = "
.version 7.0
.target sm_80
.address_size 64
.func leaf();
.global .b32 deep = 1;
.global .u64 pointer = generic(deep);
.global .b32 only_orphan;
.global .u64 orphan = generic(only_orphan);
.global .b32 kept_by_exported;
.visible .global .u64 exported = kept_by_exported;
.func unused() { call leaf, (); ret; }
.func leaf() { ret; }
.func middle() { .reg .b64 %rd<3>; ld.global.b64 %rd1, [pointer]; mov.b64 %rd2, leaf; ret; }
.visible .func library() { call unused, (); ret; }
.visible .entry kernel() { call middle, (); ret; }
";

#[test]
fn what_no_kernel_reaches_goes() {
    let mut module = parse(REACH).unwrap();
    drop_unreachable(&mut module);
    let globals: Vec<_> = module.globals.iter().map(|variable| &*variable.name).collect();
    assert_eq!(globals, ["deep", "pointer", "kept_by_exported", "exported"]);
    let functions: Vec<_> = module.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(functions, ["leaf", "leaf", "middle", "kernel"]);
    parse(&print(&module)).unwrap();
}

#[test]
fn names_do_not_tell_one_build_from_another() {
    let other = WITHOUT_FLAGS.replace("CsekQVkFLoVwc_", "Cs0abcXYZ99_").replace("CsdbepfpOAKtP_", "Cs_");
    assert_ne!(other, WITHOUT_FLAGS);
    let normal = |text: &str| {
        let mut module = parse(text).unwrap();
        normalise_names(&mut module);
        print(&module)
    };
    let text = normal(WITHOUT_FLAGS);
    assert_eq!(normal(&other), text);
    assert_eq!(normal(&text), text);
    assert!(text.contains("_RNvNtC4core9panicking18panic_bounds_check_param_0"));
    assert!(!text.contains("Csek") && !text.contains("Csdb"));
}

#[test]
fn names_that_differ_by_hash_stay_apart() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.global .b32 x0123456789abcdef = 1;\n\
                .global .b32 xfedcba9876543210 = 2;\n.global .b32 x = 3;\n.visible .global .b64 y[3] = \
                {x0123456789abcdef, xfedcba9876543210, x};\n.visible .entry k0123456789abcdef() { ret; }\n";
    let mut module = parse(text).unwrap();
    normalise_names(&mut module);
    let printed = print(&module);
    assert!(printed.contains("y[3] = {x_2, x_3, x};"), "{printed}");
    assert!(printed.contains(".b32 x_3 = 2;"), "{printed}");
    assert!(printed.contains("k0123456789abcdef"), "a kernel keeps its name: {printed}");
}

#[test]
fn labels_count_the_functions_that_are_left() {
    let mut module = parse(&COMPILED.replace("$L__BB", "$L__BB9").replace("__local_depot", "__local_depot9")).unwrap();
    normalise_names(&mut module);
    let mut expected = parse(COMPILED).unwrap();
    normalise_names(&mut expected);
    assert_eq!(print(&module), print(&expected));
}

#[test]
fn a_prepared_module_parses_and_keeps_its_kernels() {
    for text in [COMPILED, WITHOUT_FLAGS] {
        let mut module = parse(text).unwrap();
        let kernels = module.entries().count();
        prepare(&mut module, &table(&["block_sum"])).unwrap();
        let again = parse(&print(&module)).unwrap();
        assert_eq!(again.entries().count(), kernels);
        assert_eq!(print(&again), print(&module));
    }
}
