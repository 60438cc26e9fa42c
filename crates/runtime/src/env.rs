//! The environment: every variable, its value as a type, and the errors of invalid values.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use cpu_backend::SimdLevel;
#[cfg(feature = "cuda")]
use cuda_backend::{AesKernel, AirKernel};
#[cfg(feature = "cuda")]
use cuda_sim::driver::{Spec, SpecError};
use thiserror::Error;

use crate::{Choice, CollectiveKind};

/// An environment variable that Trefoil reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentVariable {
    /// Its name.
    pub name: &'static str,
    /// Its accepted values and its effect, in one line.
    pub help: &'static str,
}

/// One line for each variable: constant, name, help.
macro_rules! variables {
    ($($constant:ident $name:literal $help:literal;)*) => {
        $(const $constant: EnvironmentVariable = EnvironmentVariable { name: $name, help: $help };)*

        /// Every variable that Trefoil reads.
        pub const VARIABLES: [EnvironmentVariable; 18] = [$($constant),*];
    };
}

variables! {
    BACKEND "TREFOIL_BACKEND" "cpu (default), gpu (= cuda), auto, sim: backend of every domain";
    PFSS_BACKEND "SUF_PFSS_BACKEND" "cpu, gpu, auto: backend of pfss only; gpu fails closed";
    NN_BACKEND "RSI_ML_BACKEND" "cpu, gpu, auto: backend of nn-ops only; gpu may fall back at opening";
    NN_STRICT "RSI_ML_BACKEND_STRICT" "1: refuse that fallback; 0 (default): report it";
    NN_ALLOW_MIXED "RSI_ML_ALLOW_MIXED" "1: backward passes of nn-dispatch may run on another device than their forward passes; 0 (default): refuse";
    MEM_LIMIT "TREFOIL_MEM_LIMIT" "limit of the bytes of all buffers, with K, M or G; default none";
    THREADS "TREFOIL_THREADS" "CPU threads, 1..=1024; default all cores";
    SIMD "TREFOIL_SIMD" "portable, avx2, avx512: highest SIMD level; default the highest of the CPU";
    GPU_AES "TREFOIL_GPU_AES" "table (default), bitsliced: AES for evaluating keys on the GPU; bitsliced has no secret-dependent addresses";
    GPU_AIR "TREFOIL_GPU_AIR" "compiled (default), interpreted: how the GPU evaluates AIR constraints and lookups";
    CUDA_DEVICE "TREFOIL_CUDA_DEVICE" "number of the GPU, from 0 (default)";
    CUDA_LIBRARY "TREFOIL_CUDA_LIBRARY" "path of the CUDA driver library, sim for the simulated one, none for no GPU; default the platform's";
    GPU_PINNED "TREFOIL_GPU_PINNED" "bytes of host memory that copies to and from the GPU may pin, with K, M or G, or 0; default 256M";
    GPU_TIMEOUT "TREFOIL_GPU_TIMEOUT" "seconds that work on the GPU may take before it counts as hung; default no limit";
    COLLECTIVE "TREFOIL_COLLECTIVE" "auto (default), nccl, peer, host: transport between devices that work together";
    NCCL_LIBRARY "TREFOIL_NCCL_LIBRARY" "path of the NCCL library, none for no NCCL; default the platform's";
    PTX_DIR "TREFOIL_PTX_DIR" "folder with kernels and manifests to use instead of the built-in ones";
    SIMULATED "TREFOIL_SIM" "machine to simulate, such as `devices=2;schedule=lazy;checks=sanitize`";
}

/// Largest accepted number of threads.
///
/// More threads than a machine has do not help, and the system runs out of them.
const MOST_THREADS: usize = 1024;

/// Prefixes of the names of Trefoil's variables.
const PREFIXES: [&str; 3] = ["TREFOIL_", "SUF_PFSS_", "RSI_ML_"];

/// Variables of the workspace's tasks, which programs that they start inherit.
const OF_TASKS: [&str; 2] = ["TREFOIL_PTX_CARGO", "TREFOIL_PTX_RUSTC"];

/// Names of set environment variables that look like Trefoil's but are unknown, sorted.
///
/// They begin like Trefoil's variables but are not in [`VARIABLES`]: they are misspelt and have no
/// effect. [`Settings::from_env`] reports them as warnings of crate `tracing`.
#[must_use]
pub fn unknown_variables() -> Vec<String> {
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    unknown(set.map(|(name, _)| name.to_string_lossy().into_owned()))
}

fn unknown(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_known = |name: &str| VARIABLES.iter().any(|v| v.name == name) || OF_TASKS.contains(&name);
    let is_ours = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let mut unknown: Vec<String> = names.filter(|name| is_ours(name) && !is_known(name)).collect();
    unknown.sort();
    unknown
}

/// Where the CUDA driver comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CudaLibrary {
    /// The platform's driver, where there is one.
    #[default]
    Platform,
    /// The library at this path.
    Path(PathBuf),
    /// The simulated driver, also for the backend `gpu`.
    Simulated,
    /// None, as on a machine without a GPU.
    None,
}

/// The NCCL to use in place of the platform's. A simulated driver has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NcclLibrary {
    /// The library at this path.
    Path(PathBuf),
    /// None, as on a machine without it.
    None,
}

/// The value of a variable as the environment has it, for reports; `None` if unset.
#[must_use]
pub fn value_of(variable: EnvironmentVariable) -> Option<String> {
    std::env::var_os(variable.name).map(|value| value.to_string_lossy().into_owned())
}

/// A variable whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Not the name of a backend that the variable accepts.
    #[error("{variable}: unknown backend `{value}`; expected {expected}")]
    Backend {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// Not one of the accepted values.
    #[error("{variable}: unknown value `{value}`; expected {expected}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// Not valid Unicode.
    #[error("{variable}: the value is not valid unicode")]
    NotUnicode {
        /// The variable.
        variable: &'static str,
    },
    /// No variable has this name: see [`unknown_variables`].
    #[error("unknown variable {name}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// An item of `TREFOIL_SIM` cannot be used.
    #[cfg(feature = "cuda")]
    #[error("TREFOIL_SIM: {0}")]
    Simulator(SpecError),
}

/// The settings of the environment, parsed and checked.
///
/// A setting is `None` if its variable is unset or empty. Without the feature `cuda`, variables
/// that only its backends read are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `TREFOIL_BACKEND`.
    pub backend: Option<Choice>,
    /// `SUF_PFSS_BACKEND`.
    pub pfss_backend: Option<Choice>,
    /// `RSI_ML_BACKEND`.
    pub nn_backend: Option<Choice>,
    /// `RSI_ML_BACKEND_STRICT`.
    pub nn_strict: bool,
    /// `RSI_ML_ALLOW_MIXED`.
    pub nn_allow_mixed: bool,
    /// `TREFOIL_MEM_LIMIT`, in bytes.
    pub mem_limit_bytes: Option<u64>,
    /// `TREFOIL_THREADS`.
    pub threads: Option<NonZeroUsize>,
    /// `TREFOIL_SIMD`.
    pub simd: Option<SimdLevel>,
    /// `TREFOIL_GPU_AES`.
    #[cfg(feature = "cuda")]
    pub gpu_aes: Option<AesKernel>,
    /// `TREFOIL_GPU_AIR`.
    #[cfg(feature = "cuda")]
    pub gpu_air: Option<AirKernel>,
    /// `TREFOIL_CUDA_DEVICE`.
    pub cuda_device: u32,
    /// `TREFOIL_CUDA_LIBRARY`.
    pub cuda_library: CudaLibrary,
    /// `TREFOIL_GPU_PINNED`, in bytes.
    pub gpu_pinned_bytes: Option<u64>,
    /// `TREFOIL_GPU_TIMEOUT`.
    pub gpu_timeout: Option<Duration>,
    /// `TREFOIL_COLLECTIVE`.
    pub collective: Option<CollectiveKind>,
    /// `TREFOIL_NCCL_LIBRARY`.
    pub nccl_library: Option<NcclLibrary>,
    /// `TREFOIL_PTX_DIR`.
    pub ptx_dir: Option<PathBuf>,
    /// `TREFOIL_SIM`.
    #[cfg(feature = "cuda")]
    pub simulated: Option<Spec>,
}

impl Settings {
    /// Reads the process environment. [`unknown_variables`] are no error.
    ///
    /// # Errors
    /// [`SettingsError`] for the first variable whose value cannot be used.
    pub fn from_env() -> Result<Self, SettingsError> {
        let read = |variable: EnvironmentVariable| match std::env::var(variable.name) {
            Ok(value) => Ok(Some(value)),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(SettingsError::NotUnicode { variable: variable.name }),
        };
        for name in unknown_variables() {
            tracing::warn!("unknown variable {name}");
        }
        Self::parse(read)
    }

    /// Parses the values that `read` gives for each variable.
    ///
    /// # Errors
    /// [`SettingsError`] for the first variable whose value cannot be used.
    fn parse(
        read: impl Fn(EnvironmentVariable) -> Result<Option<String>, SettingsError>,
    ) -> Result<Self, SettingsError> {
        let set = |variable| Ok(read(variable)?.filter(|value| !value.trim().is_empty()));
        let backend = |variable: EnvironmentVariable, simulated: bool| {
            let Some(value) = set(variable)? else { return Ok(None) };
            let choice = value.parse().ok().filter(|&choice| simulated || choice != Choice::Sim);
            let expected = match simulated {
                true => "`cpu`, `gpu` (or `cuda`), `auto` or `sim`",
                false => "`cpu`, `gpu` (or `cuda`) or `auto`",
            };
            choice.map(Some).ok_or(SettingsError::Backend { variable: variable.name, value, expected })
        };
        let flag = |variable: EnvironmentVariable| match set(variable)? {
            None => Ok(false),
            Some(value) => match value.trim() {
                "0" => Ok(false),
                "1" => Ok(true),
                _ => Err(SettingsError::Value { variable: variable.name, value, expected: "`0` or `1`" }),
            },
        };
        Ok(Self {
            backend: backend(BACKEND, true)?,
            pfss_backend: backend(PFSS_BACKEND, false)?,
            nn_backend: backend(NN_BACKEND, false)?,
            nn_strict: flag(NN_STRICT)?,
            nn_allow_mixed: flag(NN_ALLOW_MIXED)?,
            mem_limit_bytes: parsed(MEM_LIMIT, set(MEM_LIMIT)?, "a byte count such as `512M`", parse_bytes)?,
            threads: parsed(THREADS, set(THREADS)?, "a whole number of 1..=1024", |text| {
                text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST_THREADS)
            })?,
            simd: parsed(SIMD, set(SIMD)?, "`portable`, `avx2` or `avx512`", |text| {
                text.to_ascii_lowercase().parse().ok()
            })?,
            #[cfg(feature = "cuda")]
            gpu_aes: parsed(GPU_AES, set(GPU_AES)?, "`table` or `bitsliced`", |text| {
                AesKernel::named(&text.to_ascii_lowercase())
            })?,
            #[cfg(feature = "cuda")]
            gpu_air: parsed(GPU_AIR, set(GPU_AIR)?, "`compiled` or `interpreted`", |text| {
                AirKernel::named(&text.to_ascii_lowercase())
            })?,
            cuda_device: parsed(CUDA_DEVICE, set(CUDA_DEVICE)?, "a device number", |text| text.parse().ok())?
                .unwrap_or_default(),
            cuda_library: set(CUDA_LIBRARY)?.map_or(CudaLibrary::Platform, |text| match text.trim() {
                "sim" => CudaLibrary::Simulated,
                "none" => CudaLibrary::None,
                path => CudaLibrary::Path(path.into()),
            }),
            gpu_pinned_bytes: parsed(GPU_PINNED, set(GPU_PINNED)?, "a byte count such as `512M`", parse_bytes)?,
            gpu_timeout: parsed(GPU_TIMEOUT, set(GPU_TIMEOUT)?, "a number of seconds above 0", |text| {
                let seconds = text.parse().ok().filter(|&seconds| seconds > 0.0)?;
                Duration::try_from_secs_f64(seconds).ok()
            })?,
            collective: parsed(COLLECTIVE, set(COLLECTIVE)?, "`auto`, `nccl`, `peer` or `host`", |text| {
                CollectiveKind::named(&text.to_ascii_lowercase())
            })?,
            nccl_library: set(NCCL_LIBRARY)?.map(|text| match text.trim() {
                "none" => NcclLibrary::None,
                path => NcclLibrary::Path(path.into()),
            }),
            ptx_dir: set(PTX_DIR)?.map(PathBuf::from),
            #[cfg(feature = "cuda")]
            simulated: set(SIMULATED)?.map(|text| text.parse().map_err(SettingsError::Simulator)).transpose()?,
        })
    }
}

fn parsed<T>(
    variable: EnvironmentVariable,
    value: Option<String>,
    expected: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, SettingsError> {
    let Some(value) = value else { return Ok(None) };
    match parse(value.trim()) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(SettingsError::Value { variable: variable.name, value, expected }),
    }
}

/// Parses `N`, `NK`, `NM` or `NG` (binary multiples).
fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().last()? {
        (end, 'k' | 'K') => (&text[..end], 10),
        (end, 'm' | 'M') => (&text[..end], 20),
        (end, 'g' | 'G') => (&text[..end], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> Result<Settings, SettingsError> {
        Settings::parse(|variable| Ok((variable.name == name).then(|| value.to_owned())))
    }

    #[test]
    fn every_variable_is_read_and_an_empty_one_is_unset() {
        assert_eq!(with("TREFOIL_BACKEND", "SIM").unwrap().backend, Some(Choice::Sim));
        assert_eq!(with("SUF_PFSS_BACKEND", "cuda").unwrap().pfss_backend, Some(Choice::Gpu));
        assert_eq!(with("RSI_ML_BACKEND", "auto").unwrap().nn_backend, Some(Choice::Auto));
        assert!(with("RSI_ML_BACKEND_STRICT", "1").unwrap().nn_strict);
        assert!(with("RSI_ML_ALLOW_MIXED", "1").unwrap().nn_allow_mixed);
        assert_eq!(with("TREFOIL_MEM_LIMIT", "512M").unwrap().mem_limit_bytes, Some(512 << 20));
        assert_eq!(with("TREFOIL_THREADS", "3").unwrap().threads, NonZeroUsize::new(3));
        assert_eq!(with("TREFOIL_SIMD", "AVX2").unwrap().simd, Some(SimdLevel::Avx2));
        #[cfg(feature = "cuda")]
        assert_eq!(with("TREFOIL_GPU_AES", "bitsliced").unwrap().gpu_aes, Some(AesKernel::Bitsliced));
        #[cfg(feature = "cuda")]
        assert_eq!(with("TREFOIL_GPU_AIR", "Interpreted").unwrap().gpu_air, Some(AirKernel::Interpreted));
        assert_eq!(with("TREFOIL_CUDA_DEVICE", "2").unwrap().cuda_device, 2);
        assert_eq!(with("TREFOIL_CUDA_LIBRARY", "sim").unwrap().cuda_library, CudaLibrary::Simulated);
        assert_eq!(with("TREFOIL_GPU_PINNED", "0").unwrap().gpu_pinned_bytes, Some(0));
        assert_eq!(with("TREFOIL_GPU_TIMEOUT", "2.5").unwrap().gpu_timeout, Some(Duration::from_millis(2500)));
        assert_eq!(with("TREFOIL_COLLECTIVE", "NCCL").unwrap().collective, Some(CollectiveKind::Nccl));
        assert_eq!(with("TREFOIL_NCCL_LIBRARY", "none").unwrap().nccl_library, Some(NcclLibrary::None));
        assert_eq!(with("TREFOIL_PTX_DIR", "/ptx").unwrap().ptx_dir, Some(PathBuf::from("/ptx")));
        #[cfg(feature = "cuda")]
        assert_eq!(with("TREFOIL_SIM", "devices=2").unwrap().simulated.unwrap().devices, 2);
        for variable in VARIABLES {
            assert_eq!(with(variable.name, " ").unwrap(), Settings::default(), "{}", variable.name);
        }
    }

    #[test]
    fn every_variable_refuses_an_unknown_value_by_name() {
        // Any text is a path.
        let refusing = VARIABLES.iter().filter(|v| ![CUDA_LIBRARY, NCCL_LIBRARY, PTX_DIR].contains(v));
        #[cfg(not(feature = "cuda"))]
        let refusing = refusing.filter(|v| ![GPU_AES, GPU_AIR, SIMULATED].contains(v));
        for variable in refusing {
            let error = with(variable.name, "-1x").unwrap_err().to_string();
            assert!(error.starts_with(variable.name) && error.contains("-1x"), "{error}");
        }
    }

    #[test]
    fn misspelt_variables_are_unknown() {
        let names = [
            "TREFOIL_BACKENDS",
            "PATH",
            "TREFOIL_BACKEND",
            "SUF_PFSS_",
            "RSI_ML_STRICT",
            "TREFOIL_PTX_CARGO",
            "TREFOIL",
        ];
        let found = unknown(names.into_iter().map(str::to_owned));
        assert_eq!(found, ["RSI_ML_STRICT", "SUF_PFSS_", "TREFOIL_BACKENDS"]);
    }

    #[test]
    fn the_simulator_is_no_choice_of_a_single_domain() {
        for variable in ["SUF_PFSS_BACKEND", "RSI_ML_BACKEND"] {
            for value in ["sim", "gup"] {
                let said = with(variable, value).unwrap_err().to_string();
                let offered = "`cpu`, `gpu` (or `cuda`) or `auto`";
                assert_eq!(said, format!("{variable}: unknown backend `{value}`; expected {offered}"));
            }
        }
    }

    #[test]
    fn threads_and_seconds_have_bounds() {
        assert_eq!(with("TREFOIL_THREADS", "1024").unwrap().threads, NonZeroUsize::new(1024));
        for value in ["0", "1025", "99999999999999999999", "1e3", "-1"] {
            let said = with("TREFOIL_THREADS", value).unwrap_err().to_string();
            assert_eq!(said, format!("TREFOIL_THREADS: unknown value `{value}`; expected a whole number of 1..=1024"));
        }
        let said = with("TREFOIL_GPU_TIMEOUT", "0").unwrap_err().to_string();
        assert_eq!(said, "TREFOIL_GPU_TIMEOUT: unknown value `0`; expected a number of seconds above 0");
    }

    #[test]
    fn byte_counts_have_binary_units_and_do_not_overflow() {
        assert_eq!(parse_bytes("1000"), Some(1000));
        assert_eq!(parse_bytes("3k"), Some(3 << 10));
        assert_eq!(parse_bytes("16G"), Some(16 << 30));
        assert_eq!(parse_bytes("99999999999999G"), None);
        assert_eq!(parse_bytes("G"), None);
    }
}
