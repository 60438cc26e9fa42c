//! Finding a compiler for `nvptx64` and building one module with it.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::progress;

/// A cargo and a rustc that can build the core library for `nvptx64`.
#[derive(Clone, Debug)]
pub(super) struct Compiler {
    cargo: PathBuf,
    rustc: PathBuf,
    /// Release and code generator, as `kernels.json` records them: other pairs give other text.
    pub(super) version: String,
}

/// Message on a machine without a compiler.
pub(super) const NONE_FOUND: &str = "no compiler for nvptx64: set TREFOIL_PTX_CARGO and TREFOIL_PTX_RUSTC, or install rustup's nightly \
     with rust-src, or run ci/install/kernel-compiler";

/// The flags that work around defects of today's compilers.
///
/// Without them, barriers and shuffles break, or the address space of shared memory is lost.
/// `kernels-ptx/README.md` documents the effect of each.
pub(super) const FLAGS: [&str; 3] = [
    "-Zmir-enable-passes=-JumpThreading",
    "-Cllvm-args=-simplifycfg-max-small-block-size=0",
    "-Cpasses=infer-address-spaces",
];

impl Compiler {
    /// The compilers of this machine, in order of preference.
    ///
    /// They are the compiler that the environment names, alone; rustup's nightly; the
    /// distribution's.
    pub(super) fn candidates() -> Result<Vec<Self>> {
        let named = |variable| env::var_os(variable).map(PathBuf::from);
        match (named("TREFOIL_PTX_CARGO"), named("TREFOIL_PTX_RUSTC")) {
            (Some(cargo), Some(rustc)) => {
                let (cargo_name, rustc_name) = (cargo.display().to_string(), rustc.display().to_string());
                let compiler = Self::new(cargo, rustc).with_context(|| {
                    format!("TREFOIL_PTX_CARGO={cargo_name} and TREFOIL_PTX_RUSTC={rustc_name} cannot build kernels")
                })?;
                return Ok(vec![compiler]);
            }
            (None, None) => {}
            _ => bail!("TREFOIL_PTX_CARGO and TREFOIL_PTX_RUSTC are set together or not at all"),
        }
        let nightly = |tool| {
            let path = output(Command::new("rustup").args(["which", "--toolchain", "nightly", tool])).ok()?;
            Some(PathBuf::from(path.trim()))
        };
        let pairs = [nightly("cargo").zip(nightly("rustc")), Some(("/usr/bin/cargo".into(), "/usr/bin/rustc".into()))];
        Ok(pairs.into_iter().flatten().filter_map(|(cargo, rustc)| Self::new(cargo, rustc).ok()).collect())
    }

    fn new(cargo: PathBuf, rustc: PathBuf) -> Result<Self> {
        let facts = output(Command::new(&rustc).arg("-vV").env_remove("RUSTUP_TOOLCHAIN"))?;
        let fact = |key: &str| {
            let line = facts.lines().find_map(|line| line.strip_prefix(key));
            line.map(|value| value.trim().to_owned()).with_context(|| format!("`rustc -vV` states no `{key}`"))
        };
        let version = format!("rustc {}, LLVM {}", fact("release:")?, fact("LLVM version:")?);
        let sysroot = output(Command::new(&rustc).args(["--print", "sysroot"]).env_remove("RUSTUP_TOOLCHAIN"))?;
        let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core");
        ensure!(source.is_dir(), "no library source at {}", source.display());
        output(Command::new(&cargo).arg("--version").env_remove("RUSTUP_TOOLCHAIN"))?;
        Ok(Self { cargo, rustc, version })
    }

    /// Compiles the module of a cargo feature of `kernels-ptx` to PTX.
    ///
    /// The result is the text that the compiler prints under `flags`. `settings` are variables that
    /// override the profile.
    pub(super) fn build(
        &self,
        root: &Path,
        feature: &str,
        flags: &[&str],
        settings: &[(&str, &str)],
    ) -> Result<String> {
        self.build_crate(&root.join("kernels-ptx"), Some(feature), flags, settings)
    }

    /// As [`build`](Self::build), for the crate in `folder`.
    ///
    /// The crate has the manifest of `kernels-ptx`.
    pub(super) fn build_crate(
        &self,
        folder: &Path,
        feature: Option<&str>,
        flags: &[&str],
        settings: &[(&str, &str)],
    ) -> Result<String> {
        let name = feature.unwrap_or("sample");
        let text = folder.join("target").join(format!("{name}.s"));
        let mut command = self.command(folder, feature);
        command.arg(format!("--emit=asm={}", text.display())).arg("-Ctarget-cpu=sm_80").args(flags);
        command.envs(settings.iter().copied());
        std::fs::create_dir_all(folder.join("target"))?;
        if text.exists() {
            std::fs::remove_file(&text)?; // else a build that cargo finds fresh would not be told from a failed one
            touch(&folder.join("src/lib.rs"))?;
        }
        let status = progress::during(&format!("kernels of {name}, build"), || command.status());
        let status = status.with_context(|| format!("cannot start {}", self.cargo.display()))?;
        ensure!(status.success(), "module {name} does not build ({status})");
        std::fs::read_to_string(&text).with_context(|| format!("the build wrote no {}", text.display()))
    }

    /// The source of the module that a cargo feature stands for, with its macros expanded.
    pub(super) fn expand(&self, root: &Path, feature: &str) -> Result<String> {
        output(self.command(&root.join("kernels-ptx"), Some(feature)).arg("-Zunpretty=expanded"))
    }

    /// The compiler of a crate, to which its own flags are still to be given.
    fn command(&self, folder: &Path, feature: Option<&str>) -> Command {
        let mut command = Command::new(&self.cargo);
        command
            .current_dir(folder)
            .args(["rustc", "--quiet", "--release", "--locked", "--target", "nvptx64-nvidia-cuda", "-Zbuild-std=core"])
            .args(feature.map(|feature| format!("--features={feature}")))
            .arg("--");
        // The cargo that runs this task leaves its own settings behind.
        let inherited = env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| is_of_outer_build(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        command.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        command
    }
}

/// Whether a variable would make the kernels' build depend on the build of this task.
fn is_of_outer_build(name: &str) -> bool {
    const KEPT: [&str; 3] = ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_BUILD_JOBS"];
    let network = name.starts_with("CARGO_HTTP") || name.starts_with("CARGO_REGISTRIES");
    let outer = ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "RUSTUP_TOOLCHAIN"];
    outer.iter().any(|prefix| name.starts_with(prefix)) && !KEPT.contains(&name) && !network
}

/// Makes a file look changed.
fn touch(path: &Path) -> Result<()> {
    let file = std::fs::File::options().append(true).open(path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    file.set_modified(std::time::SystemTime::now()).with_context(|| format!("cannot touch {}", path.display()))
}

/// Standard output of a command that succeeds.
fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::piped()).output().with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}\n{}", output.status, said.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed no UTF-8"))
}
