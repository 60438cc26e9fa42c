//! A crate in an empty folder that depends on every library by path to its package: nothing of the repository stands beside
//! it, neither its configuration of cargo nor a CUDA toolkit.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result, bail};
use cargo_metadata::{MetadataCommand, Package};
use xshell::{Shell, cmd};

use crate::{step::check, tally::Tally};

/// What stands in the crate besides its manifest.
const SOURCES: &str = "ci/outside";

/// Where it is compiled: its packages change their folder with every run, what they depend on does not.
const TARGET: &str = "target/outside";

/// The backends behind a feature of `runtime`, which need what `cuda-loader` has for the linker.
const CUDA: [&str; 3] = ["cuda-backend", "cuda-loader", "cuda-sim"];

/// Packages every library and builds the crate on the packages, without CUDA and with it; runs its tests and the README's
/// examples.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    let root = sh.current_dir();
    let libraries = libraries(&root)?;
    let selected = libraries.iter().flat_map(|package| ["--package", package.name.as_str()]);
    let package = cmd!(sh, "cargo package --quiet --no-verify --allow-dirty --offline {selected...}");
    let mut tally = check("packages of all libraries", package);
    if !tally.failed.is_empty() {
        return Ok(tally);
    }
    let scratch = sh.create_temp_dir()?;
    let (folder, packages) = (scratch.path().join("outside"), scratch.path().join("packages"));
    unpack(sh, &libraries, &packages)?;
    write_crate(sh, &libraries, &packages, &folder)?;

    let link = packages.join(versioned(find(&libraries, "cuda-loader")?)).join("link");
    let _entered = sh.push_dir(&folder);
    let _target = sh.push_env("CARGO_TARGET_DIR", root.join(TARGET));
    let plain = cmd!(sh, "cargo test --quiet").env_remove("CUDA_LIBRARY_PATH");
    tally += check("outside crate, README included", plain);
    let cuda = cmd!(sh, "cargo test --quiet --tests --features cuda").env("CUDA_LIBRARY_PATH", link);
    tally += check("outside crate with CUDA", cuda);
    Ok(tally)
}

/// The packages that others may depend on.
fn libraries(root: &Path) -> Result<Vec<Package>> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec().context("cannot read the workspace")?;
    let is_library = |package: &Package| {
        package.publish.is_none() && package.targets.iter().any(|target| target.is_lib() || target.is_rlib())
    };
    Ok(metadata.packages.into_iter().filter(is_library).collect())
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
        cmd!(sh, "tar --extract --gzip --file {archive} --directory {to}").quiet().run()?;
    }
    Ok(())
}

fn write_crate(sh: &Shell, libraries: &[Package], packages: &Path, folder: &Path) -> Result<()> {
    let from = sh.current_dir().join(SOURCES);
    for part in ["src", "tests"] {
        sh.create_dir(folder.join(part))?;
        for file in sh.read_dir(from.join(part))? {
            sh.copy_file(file, folder.join(part))?;
        }
    }
    sh.copy_file("README.md", folder)?;
    // the versions that the workspace was tested with
    sh.copy_file("Cargo.lock", folder)?;
    fs::write(folder.join("Cargo.toml"), manifest(libraries, packages)?)?;
    Ok(())
}

/// A package in another package's place on the registry is its own: a packaged manifest names dependencies by version.
fn manifest(libraries: &[Package], packages: &Path) -> Result<String> {
    let mut text = String::from(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[features]\n\
         cuda = [\"runtime/cuda\", \"dep:cuda-backend\", \"dep:cuda-loader\", \"dep:cuda-sim\"]\n\n[dependencies]\n",
    );
    let path = |package: &Package| packages.join(versioned(package)).display().to_string();
    for package in libraries {
        let (name, path) = (package.name.as_str(), path(package));
        if path.contains(['"', '\\']) {
            bail!("expected a path without quotes, got {path}");
        }
        let more = if CUDA.contains(&name) { ", optional = true" } else { ", default-features = false" };
        writeln!(text, "{name} = {{ path = \"{path}\"{more} }}")?;
    }
    text.push_str("\n[dev-dependencies]\nrand_chacha = \"0.10\"\n\n[patch.crates-io]\n");
    for package in libraries {
        writeln!(text, "{} = {{ path = \"{}\" }}", package.name, path(package))?;
    }
    Ok(text)
}
