//! `cargo xtask build-ptx`: compiles `kernels-ptx` and writes or checks `kernels-ptx/ptx/`.

mod compiler;
mod manifest;
mod table;
mod text;

use std::path::Path;

use anyhow::{Context, Result};
use xshell::Shell;

use self::compiler::{Compiler, NONE_FOUND};
use crate::{step::skip, tally::Tally};

/// One PTX module: an op set, a cargo feature of `kernels-ptx`, and two files in `ptx/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Module {
    Circle,
    Fss,
    Linalg,
}

impl Module {
    const ALL: [Self; 3] = [Self::Circle, Self::Fss, Self::Linalg];

    const fn name(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Fss => "fss",
            Self::Linalg => "linalg",
        }
    }
}

/// Builds every module; writes the files, or with `check` compares them with what is committed.
pub(crate) fn run(sh: &Shell, check: bool) -> Result<Tally> {
    let root = sh.current_dir();
    let folder = root.join("kernels-ptx/ptx");
    let committed = committed_compiler(&folder)?;
    let candidates = Compiler::candidates()?;
    let matching = candidates.iter().find(|compiler| Some(&compiler.version) == committed.as_ref());
    let Some(compiler) = matching.or(candidates.first()) else {
        return Ok(skip("build-ptx", NONE_FOUND));
    };
    eprintln!("== build-ptx: {}", compiler.version);
    let mut tally = Tally::default();
    for module in Module::ALL {
        let title = format!("PTX of module {}", module.name());
        match build(&root, compiler, module) {
            Ok((ptx, json)) if check && Some(&compiler.version) == committed.as_ref() => {
                tally += compare(&folder, module, &ptx, &json);
            }
            Ok(_) if check => {
                let pinned = committed.as_deref().unwrap_or("none");
                tally +=
                    skip(&title, &format!("comparison needs the compiler that made the committed files, {pinned}"));
            }
            Ok((ptx, json)) => {
                sh.write_file(folder.join(format!("{}.ptx", module.name())), ptx)?;
                sh.write_file(folder.join(format!("{}.json", module.name())), json)?;
                tally += Tally::of(&title, true);
            }
            Err(error) => {
                println!("error: {title}: {error:#}");
                tally += Tally::of(&title, false);
            }
        }
    }
    Ok(tally)
}

/// PTX and manifest of a module.
fn build(root: &Path, compiler: &Compiler, module: Module) -> Result<(String, String)> {
    let finished = text::finish(&compiler.build(root, module)?)?;
    let manifest = manifest::render(
        module,
        &finished.target,
        &finished.version,
        &compiler.version,
        &finished.text,
        &finished.kernels,
    )?;
    Ok((finished.text, manifest))
}

/// The compiler that made the committed modules, where there are any.
fn committed_compiler(folder: &Path) -> Result<Option<String>> {
    let path = folder.join(format!("{}.json", Module::ALL[0].name()));
    if !path.exists() {
        return Ok(None);
    }
    let manifest = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    manifest::compiler_of(&manifest).with_context(|| format!("{}", path.display())).map(Some)
}

/// Compares both files of a module byte for byte.
fn compare(folder: &Path, module: Module, ptx: &str, json: &str) -> Tally {
    let mut tally = Tally::default();
    for (extension, built) in [("ptx", ptx), ("json", json)] {
        let path = folder.join(format!("{}.{extension}", module.name()));
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let equal = committed == built;
        if !equal {
            let line = committed.lines().zip(built.lines()).take_while(|(a, b)| a == b).count() + 1;
            println!("{}:{line}: differs from a fresh build; run `cargo xtask build-ptx`", path.display());
        }
        tally += Tally::of(&format!("{} equals a fresh build", path.display()), equal);
    }
    tally
}
