//! The manifest of a module, which lists its kernels and their parameters.
//!
//! It is checked for consistency and against the PTX.

use std::collections::HashSet;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The most bytes that the parameters of a kernel may have.
const MAX_PARAMETER_BYTES: usize = 4096;

const ADDRESS_BYTES: usize = 8;

/// The most threads that a block may have on any device.
const MAX_BLOCK_THREADS: u64 = 1024;

/// A defect of a manifest or its PTX.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not the JSON that it should be.
    #[error("the manifest cannot be read: {0}")]
    Syntax(String),
    /// It belongs to another module.
    #[error("expected the manifest of this module, got the manifest of `{0}`")]
    OtherModule(String),
    /// The entry of a kernel is contradictory.
    #[error("the manifest entry of kernel `{kernel}` is invalid: {what}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// The contradiction.
        what: &'static str,
    },
    /// The PTX is not the one that the manifest describes.
    #[error("the PTX differs from its build: expected SHA-256 {expected} (from the manifest), got {found}")]
    Foreign {
        /// The digest in the manifest.
        expected: String,
        /// The digest of the PTX.
        found: String,
    },
    /// The PTX is made for another kind of device.
    #[error("expected a target of `sm_` and a number, got `{0}`")]
    Target(String),
}

/// The manifest of a module, written by the build of the kernels.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ModuleManifest {
    module: String,
    pub(super) target: String,
    pub(super) ptx_version: String,
    sha256: String,
    pub(super) kernels: Vec<KernelEntry>,
}

/// The manifest's entry for a kernel.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct KernelEntry {
    pub(super) name: String,
    pub(super) params: Vec<KernelParameter>,
    pub(super) block: [u32; 3],
    /// Blocks that a multiprocessor is meant to run at once, at least.
    pub(super) min_blocks: u32,
    pub(super) dynamic_shared: Option<DynamicShared>,
    pub(super) static_shared: u32,
}

/// A kernel's use of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ArgumentKind {
    /// It is a value: a scalar or a record.
    Value,
    /// It leads to memory that is read.
    Read,
    /// It leads to memory that is written, and may be read.
    Write,
}

impl ArgumentKind {
    /// The kind in words, for errors.
    const fn words(self) -> &'static str {
        match self {
            Self::Value => "a value",
            Self::Read => "a view that is read",
            Self::Write => "a view that is written",
        }
    }
}

/// A kernel parameter: its name, type and position in the packed arguments.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct KernelParameter {
    name: Box<str>,
    kind: ArgumentKind,
    /// The type of the value, or of the elements that it leads to, without its path.
    r#type: Box<str>,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    align: usize,
}

impl KernelParameter {
    /// Checks that the kernel takes an argument called `name` with this kind, size and type.
    ///
    /// The size is in bytes, and the argument leads to elements of the type. The error states the
    /// mismatch.
    pub(crate) fn admit(
        &self,
        name: &str,
        kind: ArgumentKind,
        element: Option<&str>,
        bytes: usize,
    ) -> Result<(), String> {
        if *self.name != *name {
            return Err(format!("expected an argument `{}`, got `{name}`", self.name));
        }
        if self.kind != kind {
            return Err(format!("parameter `{name}`: expected {}, got {}", self.kind.words(), kind.words()));
        }
        if let Some(element) = element
            && !is_of(&self.r#type, element)
        {
            return Err(format!("parameter `{name}`: expected elements of `{}`, got `{element}`", self.r#type));
        }
        if bytes != self.size {
            return Err(format!("parameter `{name}`: expected {} bytes, got {bytes}", self.size));
        }
        Ok(())
    }
}

/// Whether memory of the host's element type `given` fits a parameter of `declared` elements.
///
/// A kernel has its own names for the half-precision types, and reads Booleans as bytes.
fn is_of(declared: &str, given: &str) -> bool {
    declared.eq_ignore_ascii_case(given) || (declared, given) == ("u8", "bool")
}

/// Dynamic shared memory of a block.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(super) enum DynamicShared {
    /// Always this many bytes.
    Bytes(u32),
    /// The size that the launch requests, at most this many bytes.
    UpTo {
        /// The bytes.
        up_to: u32,
    },
}

impl ModuleManifest {
    /// Reads the manifest of module `name` and checks it, including against the PTX.
    pub(super) fn read(name: &str, text: &str, ptx: &str) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_str(text).map_err(|error| ManifestError::Syntax(error.to_string()))?;
        if manifest.module != name {
            return Err(ManifestError::OtherModule(manifest.module));
        }
        manifest.capability()?;
        let mut names = HashSet::new();
        for kernel in &manifest.kernels {
            let refuse = |what| ManifestError::Kernel { kernel: kernel.name.clone(), what };
            kernel.check().map_err(refuse)?;
            if !names.insert(&kernel.name) {
                return Err(refuse("the kernel is listed twice"));
            }
        }
        let found: String = Sha256::digest(ptx).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != manifest.sha256 {
            return Err(ManifestError::Foreign { expected: manifest.sha256, found });
        }
        Ok(manifest)
    }

    /// The least compute capability that the PTX runs on.
    pub(super) fn capability(&self) -> Result<(u32, u32), ManifestError> {
        let number = self.target.strip_prefix("sm_").and_then(|digits| digits.parse::<u32>().ok());
        number.map(|number| (number / 10, number % 10)).ok_or_else(|| ManifestError::Target(self.target.clone()))
    }
}

impl KernelEntry {
    fn check(&self) -> Result<(), &'static str> {
        let (mut end, mut names) = (0, HashSet::new());
        for parameter in &self.params {
            if !names.insert(&parameter.name) {
                return Err("two parameters have the same name");
            }
            if parameter.kind != ArgumentKind::Value && parameter.size != ADDRESS_BYTES {
                return Err("the address of a parameter is not 8 bytes long");
            }
            if parameter.size == 0 || !parameter.align.is_power_of_two() || parameter.offset % parameter.align != 0 {
                return Err("a parameter is empty or not aligned");
            }
            if parameter.offset < end {
                return Err("parameters overlap");
            }
            end = parameter.offset.saturating_add(parameter.size);
        }
        if end > MAX_PARAMETER_BYTES {
            return Err("expected at most 4096 bytes of parameters");
        }
        let sides = self.block.map(u64::from);
        let possible = sides.iter().all(|side| (1..=MAX_BLOCK_THREADS).contains(side));
        if !possible || sides.iter().product::<u64>() > MAX_BLOCK_THREADS {
            return Err("expected 1 to 1024 threads per block");
        }
        Ok(())
    }

    pub(super) fn parameter_bytes(&self) -> usize {
        self.params.last().map_or(0, |last| last.offset + last.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 7.0\n.target sm_80\n";

    fn text(kernel: &str) -> String {
        let sha256: String = Sha256::digest(PTX).iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            r#"{{"module":"m","target":"sm_80","ptx_version":"7.0","compiler":"c","sha256":"{sha256}","kernels":[{kernel}]}}"#
        )
    }

    fn kernel(params: &str, block: &str, shared: &str) -> String {
        text(&format!(
            r#"{{"name":"m_k","params":{params},"block":{block},"min_blocks":1,"dynamic_shared":{shared},"static_shared":0,"barriers":0}}"#
        ))
    }

    /// Parameters of these offsets, sizes and alignments.
    fn parameters(places: &[(usize, usize, usize)]) -> String {
        let parameter = |((offset, size, align), name): (&(usize, usize, usize), char)| {
            format!(
                r#"{{"name":"{name}","kind":"value","type":"u32","offset":{offset},"size":{size},"align":{align}}}"#
            )
        };
        format!("[{}]", places.iter().zip('p'..).map(parameter).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn a_manifest_of_the_build_is_read() {
        let params = parameters(&[(0, 8, 8), (8, 4, 4)]);
        let manifest = ModuleManifest::read("m", &kernel(&params, "[256,1,1]", r#"{"up_to":4096}"#), PTX).unwrap();
        assert_eq!(manifest.kernels[0].parameter_bytes(), 12);
        assert_eq!(manifest.kernels[0].dynamic_shared, Some(DynamicShared::UpTo { up_to: 4096 }));
        assert_eq!(manifest.capability(), Ok((8, 0)));
    }

    #[test]
    fn contradictions_are_refused_with_the_kernel() {
        let refused = |params: &str, block: &str| {
            let read = ModuleManifest::read("m", &kernel(params, block, "null"), PTX);
            assert!(matches!(read, Err(ManifestError::Kernel { kernel, .. }) if kernel == "m_k"), "{params} {block}");
        };
        refused(&parameters(&[(2, 4, 4)]), "[1,1,1]");
        refused(&parameters(&[(0, 8, 8), (4, 4, 4)]), "[1,1,1]");
        refused(&parameters(&[(0, 0, 1)]), "[1,1,1]");
        refused(&parameters(&[(usize::MAX - 7, 16, 8)]), "[1,1,1]");
        let twice = parameters(&[(0, 4, 4), (4, 4, 4)]).replace(r#""q""#, r#""p""#);
        refused(&twice, "[1,1,1]");
        refused(&parameters(&[(0, 4, 4)]).replace("value", "read"), "[1,1,1]");
        refused(&parameters(&[(4096, 1, 1)]), "[1,1,1]");
        refused("[]", "[0,1,1]");
        refused("[]", "[1025,1,1]");
        refused("[]", "[1024,2,1]");
        refused("[]", "[4294967295,4294967295,4294967295]");
        for (params, block) in [(parameters(&[(0, 4, 4), (4088, 8, 8)]), "[1024,1,1]"), (parameters(&[]), "[2,16,32]")]
        {
            assert!(ModuleManifest::read("m", &kernel(&params, block, "null"), PTX).is_ok(), "{params} {block}");
        }
    }

    #[test]
    fn kernels_listed_twice_are_refused() {
        let whole = kernel("[]", "[1,1,1]", "null");
        let entry = &whole[whole.find(r#"{"name""#).unwrap()..whole.rfind("]}").unwrap()];
        let twice = whole.replace(entry, &format!("{entry},{entry}"));
        let listed = |text: &str| ModuleManifest::read("m", text, PTX).map(|_| ());
        let refused = |kernel: &str, what| Err(ManifestError::Kernel { kernel: kernel.to_owned(), what });
        assert_eq!(listed(&whole), Ok(()));
        assert_eq!(listed(&twice), refused("m_k", "the kernel is listed twice"));
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        let whole = kernel(&parameters(&[(0, 8, 8)]), "[64,1,1]", r#"{"up_to":4096}"#);
        assert!(ModuleManifest::read("m", &whole, PTX).is_ok());
        for (right, wrong) in [
            (r#""size":8"#, r#""size":-8"#),
            (r#""size":8"#, r#""size":8.5"#),
            (r#""size":8"#, r#""length":8"#),
            ("[64,1,1]", "[64,1]"),
            ("[64,1,1]", "[4294967296,1,1]"),
            (r#"{"up_to":4096}"#, r#"{"at_most":4096}"#),
            (r#""static_shared":0"#, r#""static_shared":null"#),
            (r#""name":"m_k""#, r#""name":7"#),
            (r#""name":"p""#, r#""name":7"#),
            (r#""kind":"value""#, r#""kind":"both""#),
            (r#""kind":"value""#, r#""kind":7"#),
            (r#""type":"u32","#, ""),
        ] {
            let changed = whole.replace(right, wrong);
            assert_ne!(changed, whole, "{wrong}");
            let read = ModuleManifest::read("m", &changed, PTX);
            assert!(matches!(read, Err(ManifestError::Syntax(_))), "{wrong}");
        }
    }

    #[test]
    fn every_truncation_and_every_foreign_text_is_refused() {
        let whole = text("");
        for end in 0..whole.len() {
            assert!(matches!(ModuleManifest::read("m", &whole[..end], PTX), Err(ManifestError::Syntax(_))), "{end}");
        }
        assert!(matches!(ModuleManifest::read("n", &whole, PTX), Err(ManifestError::OtherModule(_))));
        assert!(matches!(ModuleManifest::read("m", &whole, &PTX[1..]), Err(ManifestError::Foreign { .. })));
        let other = whole.replace("sm_80", "gfx90a");
        assert!(matches!(ModuleManifest::read("m", &other, PTX), Err(ManifestError::Target(_))));
    }
}
