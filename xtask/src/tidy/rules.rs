//! Rules on syntax.
//!
//! They cover the homes of `unsafe` and of the environment, the purity of domains, and habits.

use super::{
    Finding,
    facts::{Fact, UnsafeKind, What},
    source::File,
    visit,
};

/// Crates that hold no `unsafe` at all, and say so at their roots.
const SAFE_ROOTS: &[&str] = &[
    "crates/backend-api/src/lib.rs",
    "crates/collective/src/lib.rs",
    "crates/collective-mpi/src/lib.rs",
    "crates/pfss/src/lib.rs",
    "crates/stark/src/lib.rs",
    "crates/stark-air/src/lib.rs",
    "crates/stark-fft/src/lib.rs",
    "crates/stark-airs/src/lib.rs",
    "crates/stark-verifier/src/lib.rs",
    "crates/stwo-air/src/lib.rs",
    "crates/nn-ops/src/lib.rs",
    "crates/nn-dispatch/src/lib.rs",
    "crates/hybrid-accel/src/lib.rs",
    "crates/runtime/src/lib.rs",
    "crates/trefoil/src/lib.rs",
    "crates/conformance/src/lib.rs",
    "crates/cli/src/main.rs",
    "crates/device-trials/src/lib.rs",
    "crates/inference/src/lib.rs",
    "crates/test-process/src/lib.rs",
    "crates/ptx/src/lib.rs",
    "xtask/src/main.rs",
];

/// Crates without the standard library.
const NO_STD_ROOTS: &[&str] = &[
    "crates/core-types/src/lib.rs",
    "crates/stark-airs/src/lib.rs",
    "crates/stark-verifier/src/lib.rs",
    "crates/stwo-air/src/lib.rs",
];

const DOMAINS: &[&str] = &[
    "crates/pfss/",
    "crates/stark/",
    "crates/stark-air/",
    "crates/stark-airs/",
    "crates/stark-fft/",
    "crates/stark-verifier/",
    "crates/stwo-air/",
    "crates/nn-ops/",
];

/// Paths that may contain `unsafe`.
///
/// - Bit-pattern implementations of the shared types.
/// - The vectors, transforms and products of the CPU backend.
/// - Code that calls the CUDA driver or stands in for it.
/// - The C interface, and its tests.
/// - The requests to valgrind.
/// - The call of a peer that has no safe interface.
/// - A function of a trait of stwo.
/// - Tests that watch the memory that the allocator hands out and takes back.
const UNSAFE_HOMES: &[(&str, &[UnsafeKind])] = &[
    ("crates/core-types/src/", &[UnsafeKind::Impl]),
    ("crates/core-types/src/field/wide.rs", &[UnsafeKind::Block]),
    ("crates/cpu-backend/src/air/", SIMD),
    ("crates/cpu-backend/src/circle/", SIMD),
    ("crates/cpu-backend/src/factor/product.rs", &[UnsafeKind::Block]),
    ("crates/cpu-backend/src/simd/", SIMD),
    ("crates/cuda-loader/", FOREIGN),
    ("crates/cuda-backend/src/ffi/", FOREIGN),
    ("crates/cuda-backend/src/mem/", FOREIGN),
    ("crates/cuda-backend/src/ops/", &[UnsafeKind::Block]),
    ("crates/cuda-backend/src/peers/", &[UnsafeKind::Block]),
    ("crates/cuda-backend/src/submit/", FOREIGN),
    ("crates/cuda-backend/tests/", FOREIGN),
    ("crates/cuda-sim/", FOREIGN),
    ("kernels-ptx/src/", KERNELS),
    ("crates/conformance/tests/sim/mutants/attention/backward.rs", FOREIGN),
    ("crates/conformance/tests/sim/mutants/attention/forward.rs", FOREIGN),
    ("crates/conformance/tests/sim/mutants/direct.rs", FOREIGN),
    ("crates/conformance/tests/sim/mutants/products.rs", FOREIGN),
    ("crates/conformance/tests/sim/mutants/wide.rs", FOREIGN),
    ("crates/constant-time/src/memcheck.rs", &[UnsafeKind::Block]),
    ("crates/pfss-ffi/", &[UnsafeKind::Block, UnsafeKind::Fn]),
    ("crates/pfss-ffi/tests/main/machine.rs", &[UnsafeKind::Extern]),
    ("crates/pfss/tests/malformed.rs", ALLOCATOR),
    ("crates/pfss/tests/wiping.rs", ALLOCATOR),
    ("crates/yardstick/src/peers/product.rs", &[UnsafeKind::Block]),
    ("stwo-plugin/src/column.rs", &[UnsafeKind::Fn]),
];

const SIMD: &[UnsafeKind] = &[UnsafeKind::Block, UnsafeKind::Fn, UnsafeKind::Impl];
const ALLOCATOR: &[UnsafeKind] = SIMD;
const FOREIGN: &[UnsafeKind] = SIMD;
const KERNELS: &[UnsafeKind] = &[UnsafeKind::Block, UnsafeKind::Fn, UnsafeKind::Extern];

/// Crates that may read the environment.
///
/// They are the crate that selects backends, and the workspace's own tasks.
const ENVIRONMENT_HOMES: &[&str] = &["crates/runtime/", "xtask/"];

/// Functions that read or change the environment.
///
/// The rest of `std::env` names the program and its arguments.
const ENVIRONMENT: &[&str] = &[
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::env::vars_os",
    "std::env::set_var",
    "std::env::remove_var",
    "std::env::*",
];

/// The effects that a domain leaves to its caller, outside its tests.
const IMPURE_PATHS: &[(&str, &str)] = &[
    ("std::time::Instant", "reads the clock"),
    ("std::time::SystemTime", "reads the clock"),
    ("std::time::*", "may read the clock"),
    ("std::thread", "starts or stops threads"),
    ("rayon", "starts threads"),
    ("std::io::stdout", "prints"),
    ("std::io::stderr", "prints"),
];

/// Where a domain allocates memory that has to begin as zeros.
///
/// Elsewhere an op overwrites its memory, and `alloc` does.
const ZEROS_HOMES: &[&str] = &[
    "crates/nn-ops/src/layers/gru.rs",
    "crates/nn-ops/src/optim/arena.rs",
    "crates/nn-ops/src/tape/backward.rs",
    "crates/stark/src/storage/answers.rs",
    "crates/stark/src/storage/memory.rs",
];

const PRINTING: &[&str] = &["print", "println", "eprint", "eprintln"];

const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

/// Rules on the syntax of each Rust file.
pub(super) fn check(files: &[File], findings: &mut Vec<Finding>) {
    for file in files {
        let Some(ast) = &file.ast else { continue };
        for fact in visit::facts(ast, &file.text, file.test_only) {
            let mut report = |message: String| findings.push(Finding::new(&file.path, fact.line, message));
            environment(&file.path, &fact, &mut report);
            purity(&file.path, &fact, &mut report);
            zeroing(&file.path, &fact, &mut report);
            unsafety(&file.path, &fact, &mut report);
            habits(&fact, &mut report);
        }
    }
    for root in SAFE_ROOTS {
        require_inner_attribute(files, root, "forbid(unsafe_code)", findings);
    }
    for root in NO_STD_ROOTS {
        require_inner_attribute(files, root, "no_std", findings);
    }
}

fn environment(path: &str, fact: &Fact, report: &mut impl FnMut(String)) {
    // Cargo hands facts about the build to build scripts in their environment.
    if ENVIRONMENT_HOMES.iter().any(|home| path.starts_with(home)) || path.ends_with("/build.rs") {
        return;
    }
    match &fact.what {
        What::Path(name) if ENVIRONMENT.iter().any(|read| is_or_within(name, read)) => {
            report(format!("`{name}` reads the environment; only crate `runtime` may"));
        }
        // Facts that cargo states about the build are not the user's environment.
        What::Macro { name, argument }
            if (name == "env" || name == "option_env")
                && !argument
                    .as_deref()
                    .is_some_and(|variable| variable.starts_with("CARGO_") || variable == "OUT_DIR") =>
        {
            report(format!("`{name}!` reads the environment; only crate `runtime` may"));
        }
        _ => {}
    }
}

fn purity(path: &str, fact: &Fact, report: &mut impl FnMut(String)) {
    if fact.test || !DOMAINS.iter().any(|domain| path.starts_with(domain)) {
        return;
    }
    match &fact.what {
        What::Path(name) => {
            if is_or_within(name, "std::env") && !ENVIRONMENT.iter().any(|read| is_or_within(name, read)) {
                report(format!("`{name}`: a domain does not look at the process around it"));
            }
            if let Some((_, what)) = IMPURE_PATHS.iter().find(|(impure, _)| is_or_within(name, impure)) {
                report(format!("`{name}` {what}; a domain does not"));
            }
        }
        What::Macro { name, .. } if PRINTING.contains(&name.as_str()) => {
            report(format!("`{name}!` prints; a domain does not"));
        }
        _ => {}
    }
}

fn zeroing(path: &str, fact: &Fact, report: &mut impl FnMut(String)) {
    let zeros = matches!(&fact.what, What::Method(name) if name == "zeros");
    let domain = DOMAINS.iter().any(|domain| path.strip_prefix(domain).is_some_and(|file| file.starts_with("src/")));
    if zeros && domain && !fact.test && !ZEROS_HOMES.contains(&path) {
        report("`zeros` fills memory that an op overwrites: `alloc`, or a home in xtask/src/tidy/rules.rs".to_owned());
    }
}

fn unsafety(path: &str, fact: &Fact, report: &mut impl FnMut(String)) {
    let What::Unsafe { kind, documented } = &fact.what else { return };
    if !UNSAFE_HOMES.iter().any(|(home, kinds)| path.starts_with(home) && kinds.contains(kind)) {
        report(format!("`unsafe` {} outside its homes (xtask/src/tidy/rules.rs)", kind.name()));
    }
    if !documented {
        let form = match kind {
            UnsafeKind::Fn | UnsafeKind::Trait => "a `# Safety` section of its own or of its file",
            UnsafeKind::Block | UnsafeKind::Impl | UnsafeKind::Extern => "a `// SAFETY:` comment right above",
        };
        report(format!("undocumented `unsafe` {}: needs {form}", kind.name()));
    }
}

fn habits(fact: &Fact, report: &mut impl FnMut(String)) {
    match &fact.what {
        What::Macro { name, .. } if UNFINISHED.contains(&name.as_str()) => {
            report(format!("`{name}!` is unfinished work"))
        }
        What::GlobReexport => report("glob re-export; name what is exported".into()),
        What::Ignore => report("`#[ignore]`: a test runs or does not exist".into()),
        _ => {}
    }
}

/// Whether `path` is `ancestor` or lies below it; `core` counts as `std`.
fn is_or_within(path: &str, ancestor: &str) -> bool {
    let tail = path.strip_prefix("core::").or_else(|| path.strip_prefix("std::"));
    let wanted = ancestor.strip_prefix("std::");
    let (path, ancestor) = match (tail, wanted) {
        (Some(tail), Some(wanted)) => (tail, wanted),
        (None, None) => (path, ancestor),
        _ => return false,
    };
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn require_inner_attribute(files: &[File], path: &str, attribute: &str, findings: &mut Vec<Finding>) {
    let ast = files.iter().find(|file| file.path == path).and_then(|file| file.ast.as_ref());
    let has = |attr: &syn::Attribute| match &attr.meta {
        syn::Meta::Path(name) => name.is_ident(attribute),
        syn::Meta::List(list) => {
            list.path.get_ident().is_some_and(|name| format!("{name}({})", list.tokens) == attribute)
        }
        syn::Meta::NameValue(_) => false,
    };
    if !ast.is_some_and(|ast| ast.attrs.iter().any(has)) {
        findings.push(Finding::new(path, 1, format!("`#![{attribute}]` is missing")));
    }
}
