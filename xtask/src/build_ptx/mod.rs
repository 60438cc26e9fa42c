//! `cargo xtask build-ptx`: compiles and checks `kernels-ptx`.
//!
//! It writes or checks `kernels-ptx/ptx/`, and runs the lints and budget checks on it.

mod assemble;
mod budgets;
mod compiler;
mod finish;
mod listing;
mod manifest;
mod module;
mod programs;
mod ptxas;
mod sass;
mod signature;
mod sources;
mod table;
mod trials;
mod typing;

use std::path::Path;

use anyhow::{Context, Result};
use ptx::lint::{Finding, Lint};
use xshell::Shell;

use self::{
    compiler::{Compiler, FLAGS, NONE_FOUND},
    finish::{Finished, finish},
    manifest::Manifest,
    module::{Module, OP_SETS},
};
use crate::{step::skip, tally::Tally};

pub(crate) use self::{
    ptxas::NONE_FOUND as NO_ASSEMBLER,
    sass::run as sass,
    sources::{FILE as SOURCES, are_as_built},
    trials::sample::{Assembler, CompiledSample, DeviceKernel, SampleCompiler},
};

/// Builds every module and writes the files, or with `check` compares them.
///
/// Then it checks the files.
pub(crate) fn run(sh: &Shell, check: bool) -> Result<Tally> {
    let root = sh.current_dir();
    let mut tally = rebuild(&root, check)?;
    tally += verify(&root, check)?;
    Ok(tally)
}

/// As [`run`] with `check`, but skips the build if the sources are unchanged.
///
/// They are unchanged if the files were made from the same sources.
pub(crate) fn check_what_changed(sh: &Shell) -> Result<Tally> {
    let root = sh.current_dir();
    if !sources::are_as_built(&root)? {
        return run(sh, true);
    }
    let mut tally = Tally::of("the sources of the kernels are those of the committed PTX", true);
    tally += verify(&root, true)?;
    Ok(tally)
}

/// Builds every module; writes or compares.
fn rebuild(root: &Path, check: bool) -> Result<Tally> {
    let committed = committed_compiler(root);
    let candidates = Compiler::candidates()?;
    let matching = candidates.iter().find(|compiler| Some(&compiler.version) == committed.as_ref());
    let Some(compiler) = matching.or(candidates.first()) else {
        return Ok(skip("build-ptx", NONE_FOUND));
    };
    if check && matching.is_none() {
        let (made, found) = (committed.as_deref().unwrap_or("no one compiler"), &compiler.version);
        return Ok(skip("build-ptx", &format!("{made} made the committed PTX, {found} would print other text")));
    }
    eprintln!("== build-ptx: {}", compiler.version);
    let mut tally = Tally::default();
    for op_set in OP_SETS {
        let modules: Vec<_> = Module::of(op_set).collect();
        let built = compiler.build(root, op_set, &FLAGS, &[]).and_then(|raw| {
            let signatures = signature::read(&compiler.expand(root, op_set)?)?;
            finish(&modules, &compiler.version, &raw, &signatures)
        });
        match built {
            Ok(modules) => {
                for finished in modules {
                    tally += keep_module(root, &finished, check)?;
                }
            }
            Err(error) => {
                let title = format!("PTX of op set {op_set}");
                println!("error: {title}: {error:#}");
                tally += Tally::of(&title, false);
            }
        }
    }
    tally += trials::canary::run(compiler, root, check)?;
    tally += trials::differential::run(compiler, root, check)?;
    // Text that is older than its sources must not pass for theirs.
    if check || tally.failed.is_empty() {
        tally += keep(root, sources::FILE, &sources::digest(root)?, check)?;
    }
    Ok(tally)
}

/// The compiler that made the committed modules, if it was one.
fn committed_compiler(root: &Path) -> Option<String> {
    let compiler = |module: Module| {
        let text = std::fs::read_to_string(module.file(root, "json")).ok()?;
        Some(Manifest::parse(&text).ok()?.compiler)
    };
    let mut compilers = Module::ALL.map(compiler).into_iter();
    let first = compilers.next()??;
    compilers.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Writes both files of a module, or with `check` compares them.
fn keep_module(root: &Path, finished: &Finished, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    for (extension, built) in [("ptx", &finished.ptx), ("json", &finished.manifest.render()?)] {
        tally += keep(root, &format!("kernels-ptx/ptx/{}.{extension}", finished.module.name()), built, check)?;
    }
    Ok(tally)
}

/// Writes a file, or with `check` compares it byte for byte.
fn keep(root: &Path, file: &str, built: &str, check: bool) -> Result<Tally> {
    let path = root.join(file);
    if !check {
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        std::fs::write(&path, built).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(Tally::of(file, true));
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let equal = committed == built;
    if !equal {
        let line = committed.lines().zip(built.lines()).take_while(|(a, b)| a == b).count() + 1;
        println!("{}:{line}: differs from a fresh build; run `cargo xtask build-ptx`", path.display());
    }
    Ok(Tally::of(&format!("{file} equals a fresh build"), equal))
}

/// Checks the files against their manifests, the lints and the budgets.
///
/// It lists the kernels in the documents.
fn verify(root: &Path, check: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut kernels = Vec::new();
    for module in Module::ALL {
        let findings = match lint(root, module) {
            Ok((manifest, findings)) => {
                kernels.extend(manifest.kernels);
                findings
            }
            Err(error) => vec![format!("{error:#}")],
        };
        tally += report(&format!("lints of {}.ptx", module.name()), &findings);
    }
    tally += assemble::run(root, &kernels, check)?;
    tally += programs::run(root)?;
    tally += listing::run(root, &kernels, check)?;
    tally += typing::run(root)?;
    Ok(tally)
}

/// The manifest of a module, and the findings on its files.
///
/// The findings come from the lints and from the comparison with the manifest.
fn lint(root: &Path, module: Module) -> Result<(Manifest, Vec<String>)> {
    let read = |extension: &str| {
        let path = module.file(root, extension);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (ptx, manifest) = (read("ptx")?, Manifest::parse(&read("json")?)?);
    manifest.expect(&ptx)?;
    let tree = ptx::parse(&ptx).with_context(|| format!("{}.ptx", module.name()))?;
    let findings = ptx::lint::check(&tree, &manifest.table());
    let concerns = |finding: &&Finding| finding.lint != Lint::WideProduct || module.computes_in_m31();
    let findings = findings.iter().filter(concerns).map(|finding| format!("{}.ptx: {finding}", module.name()));
    let mismatches = manifest.parameter_mismatches(&tree);
    let mismatches = mismatches.iter().map(|mismatch| format!("{}.json: {mismatch}", module.name()));
    let all = findings.chain(mismatches).collect();
    Ok((manifest, all))
}

/// One check that passes without findings.
fn report(title: &str, findings: &[String]) -> Tally {
    for finding in findings {
        println!("{title}: {finding}");
    }
    Tally::of(title, findings.is_empty())
}
