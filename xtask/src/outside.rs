//! Crates outside the repository that depend on the packages of libraries.
//!
//! They are in an empty folder, and depend on the packages by path. Neither the repository's
//! configuration of cargo nor a CUDA toolkit affects them.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use anyhow::{Context, Result, bail};
use cargo_metadata::Package;
use xshell::{Shell, cmd};

use crate::{
    metadata,
    step::{check, failed},
    tally::Tally,
};

/// The files in the crates other than their manifests.
///
/// `hello` depends on one library, `every` on all.
const SOURCES: &str = "ci/outside";

/// The library that a program needs.
const FACADE: &str = "trefoil";

/// The folder in which they are compiled.
///
/// Their packages are new with every run, the dependencies of the packages are not.
const TARGET: &str = "target/outside";

/// The backends behind a feature of `runtime`.
///
/// They need the files that `cuda-loader` has for the linker.
const CUDA: [&str; 3] = ["cuda-backend", "cuda-loader", "cuda-sim"];

/// Packages every library and builds the crates on the packages.
///
/// It builds them without CUDA and with it, and runs their tests and the README's examples, for
/// which one library has to be enough.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    let root = sh.current_dir();
    let libraries = libraries(&root)?;
    let selected = libraries.iter().flat_map(|package| ["--package", package.name.as_str()]);
    let package = cmd!(sh, "cargo package --quiet --no-verify --allow-dirty --offline {selected...}");
    let mut tally = check("packages of all libraries", package);
    if !tally.failed.is_empty() {
        return Ok(tally);
    }
    tally += without_cuda(sh)?;
    let scratch = sh.create_temp_dir()?;
    let (folder, packages) = (scratch.path().join("outside"), scratch.path().join("packages"));
    unpack(sh, &libraries, &packages)?;
    write_crates(sh, &libraries, &packages, &folder)?;

    let link = packages.join(versioned(find(&libraries, "cuda-loader")?)).join("link");
    let _entered = sh.push_dir(&folder);
    let _target = sh.push_env("CARGO_TARGET_DIR", root.join(TARGET));
    let crates = [
        ("test", "outside crate on one library, README included", "hello"),
        ("check", "outside crate on all", "every"),
    ];
    for (task, title, name) in crates {
        let plain = cmd!(sh, "cargo {task} --quiet --package {name}").env_remove("CUDA_LIBRARY_PATH");
        tally += check(title, plain);
        let cuda =
            cmd!(sh, "cargo {task} --quiet --package {name} --tests --features cuda").env("CUDA_LIBRARY_PATH", &link);
        tally += check(&format!("{title}, with CUDA"), cuda);
    }
    Ok(tally)
}

/// Whether the program without CUDA depends on no package of CUDA.
///
/// Such a package would look for a toolkit, which the repository's configuration of cargo names.
/// The lints compile the program.
fn without_cuda(sh: &Shell) -> Result<Tally> {
    const TITLE: &str = "dependencies of the program without CUDA";
    let tree = cmd!(sh, "cargo tree --package trefoil-cli --no-default-features --edges normal,build --prefix none");
    let tree = tree.quiet().read()?;
    let packages: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let is_of_cuda = |name: &&&str| name.starts_with("cust") || name.contains("cuda");
    let found: Vec<_> = packages.iter().filter(is_of_cuda).collect();
    if !found.is_empty() {
        return Ok(failed(TITLE, &format!("expected no package of CUDA, got {found:?}")));
    }
    Ok(Tally::of(TITLE, packages.contains("trefoil-cli")))
}

/// The packages that others may depend on.
fn libraries(root: &Path) -> Result<Vec<Package>> {
    let is_library = |package: &Package| {
        package.publish.is_none() && package.targets.iter().any(|target| target.is_lib() || target.is_rlib())
    };
    Ok(metadata(root)?.packages.into_iter().filter(is_library).collect())
}

fn find<'a>(packages: &'a [Package], name: &str) -> Result<&'a Package> {
    packages.iter().find(|package| package.name.as_str() == name).with_context(|| format!("no library `{name}`"))
}

/// The folder in a package's archive.
fn versioned(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

fn unpack(sh: &Shell, libraries: &[Package], to: &Path) -> Result<()> {
    sh.create_dir(to)?;
    for package in libraries {
        let archive = format!("target/package/{}.crate", versioned(package));
        // Files of an archive all have one old date, so cargo would mistake new sources for the last run's.
        cmd!(sh, "tar --extract --gzip --touch --file {archive} --directory {to}").quiet().run()?;
    }
    Ok(())
}

fn write_crates(sh: &Shell, libraries: &[Package], packages: &Path, folder: &Path) -> Result<()> {
    let from = sh.current_dir().join(SOURCES);
    let all: Vec<_> = libraries.iter().collect();
    for (name, libraries) in [("hello", &[find(libraries, FACADE)?][..]), ("every", &all)] {
        let (from, to) = (from.join(name), folder.join(name));
        for part in ["src", "tests"].into_iter().filter(|part| from.join(part).is_dir()) {
            sh.create_dir(to.join(part))?;
            for file in sh.read_dir(from.join(part))? {
                sh.copy_file(file, to.join(part))?;
            }
        }
        fs::write(to.join("Cargo.toml"), manifest(name, libraries, packages)?)?;
    }
    sh.copy_file("README.md", folder.join("hello"))?;
    // the versions that the workspace was tested with
    sh.copy_file("Cargo.lock", folder)?;
    fs::write(folder.join("Cargo.toml"), workspace(libraries, packages)?)?;
    Ok(())
}

fn manifest(name: &str, libraries: &[&Package], packages: &Path) -> Result<String> {
    let mut text = format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n");
    let mut features = format!("\"{FACADE}/cuda\"");
    for library in libraries {
        let (name, path) = (library.name.as_str(), path(library, packages)?);
        let more = if CUDA.contains(&name) {
            write!(features, ", \"dep:{name}\"")?;
            ", optional = true"
        } else {
            ", default-features = false"
        };
        writeln!(text, "{name} = {{ path = \"{path}\"{more} }}")?;
    }
    writeln!(text, "\n[features]\ncuda = [{features}]")?;
    Ok(text)
}

/// The manifest of a workspace that takes each package from its folder.
///
/// It replaces packages of the registry, since a packaged manifest names dependencies by version.
fn workspace(libraries: &[Package], packages: &Path) -> Result<String> {
    let mut text = String::from(
        "[workspace]\nresolver = \"3\"\nmembers = [\"hello\", \"every\"]\n\n[profile.dev]\ndebug = false\n\n[patch.crates-io]\n",
    );
    for library in libraries {
        writeln!(text, "{} = {{ path = \"{}\" }}", library.name, path(library, packages)?)?;
    }
    Ok(text)
}

/// Where a library's package is, as a manifest may say it.
fn path(library: &Package, packages: &Path) -> Result<String> {
    let path = packages.join(versioned(library)).display().to_string();
    if path.contains(['"', '\\']) {
        bail!("expected a path without quotes, got {path}");
    }
    Ok(path)
}
