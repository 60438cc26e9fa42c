//! The processor's SIMD features, and the ones a queue uses.

use core::{fmt, str::FromStr};

/// Vector instruction sets that ops are written for, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SimdLevel {
    /// Plain Rust, vectorised by the compiler for the baseline target.
    Portable,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, on top of AVX2.
    Avx512,
}

impl SimdLevel {
    /// Every level, weakest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name used in reports and settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor can run the level.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

impl fmt::Display for SimdLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SimdLevel {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|level| level.name() == name).ok_or(())
    }
}

/// How AES rounds run, weakest first. Each is constant-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AesPath {
    /// A Boolean circuit on bit planes of 32 blocks, in plain Rust.
    Portable,
    /// AES-NI, one block per instruction.
    AesNi,
    /// VAES on 256-bit registers, two blocks per instruction.
    Vaes256,
    /// VAES on 512-bit registers, four blocks per instruction.
    Vaes512,
}

impl AesPath {
    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "bitsliced aes",
            Self::AesNi => "aes-ni",
            Self::Vaes256 => "vaes256",
            Self::Vaes512 => "vaes512",
        }
    }

    /// Whether this processor can run the path under the vector level `simd`.
    #[must_use]
    pub fn is_available(self, simd: SimdLevel) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::AesNi => is_x86_feature_detected!("aes") && is_x86_feature_detected!("sse4.1"),
            #[cfg(target_arch = "x86_64")]
            Self::Vaes256 => {
                Self::AesNi.is_available(simd) && simd >= SimdLevel::Avx2 && is_x86_feature_detected!("vaes")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Vaes512 => Self::Vaes256.is_available(simd) && simd >= SimdLevel::Avx512,
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

/// The paths one queue uses. A value of this type proves that the processor can run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd {
    level: SimdLevel,
    aes: AesPath,
    bf16: bool,
    fetches_rows: bool,
}

impl Simd {
    /// The strongest paths that this processor has, not above `level`.
    #[must_use]
    pub fn detect_up_to(level: SimdLevel) -> Self {
        let level = SimdLevel::ALL
            .into_iter()
            .rev()
            .find(|&candidate| candidate <= level && candidate.is_available())
            .unwrap_or(SimdLevel::Portable);
        let aes = [AesPath::Vaes512, AesPath::Vaes256, AesPath::AesNi]
            .into_iter()
            .find(|path| path.is_available(level))
            .unwrap_or(AesPath::Portable);
        Self { level, aes, bf16: level == SimdLevel::Avx512 && has_bf16(), fetches_rows: !is_zen_4() }
    }

    /// The same vector level with another AES path, or `None` if the processor lacks it.
    #[must_use]
    pub fn with_aes(self, aes: AesPath) -> Option<Self> {
        aes.is_available(self.level).then_some(Self { aes, ..self })
    }

    /// The same paths without instructions for products of bf16.
    #[must_use]
    pub const fn without_bf16(self) -> Self {
        Self { bf16: false, ..self }
    }

    /// Whether products of bf16 use VDPBF16PS.
    ///
    /// VDPBF16PS treats subnormal numbers as zeros. Otherwise, products are sums of products of
    /// f32.
    #[must_use]
    pub const fn bf16(self) -> bool {
        self.bf16
    }

    /// The same paths with the rows of norms fetched before they are read, or not.
    ///
    /// Results are the same.
    #[must_use]
    pub const fn with_fetched_rows(self, fetches_rows: bool) -> Self {
        Self { fetches_rows, ..self }
    }

    /// Whether the rows of norms are fetched before they are read: on all processors but a Zen 4.
    #[must_use]
    pub const fn fetches_rows(self) -> bool {
        self.fetches_rows
    }

    /// The vector level.
    #[must_use]
    pub const fn level(self) -> SimdLevel {
        self.level
    }

    /// The AES path.
    #[must_use]
    pub const fn aes(self) -> AesPath {
        self.aes
    }
}

/// Whether the processor is a Zen 4, which fetches rows better by itself.
///
/// Among processors with AVX-512, only AMD's have SSE4a. AMD's processors after Zen 4 have
/// VP2INTERSECT.
fn is_zen_4() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("sse4a")
            && !is_x86_feature_detected!("avx512vp2intersect")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether the processor multiplies pairs of bf16.
fn has_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn aes_paths_need_their_instructions_and_their_vector_level() {
        let aes = is_x86_feature_detected!("aes") && is_x86_feature_detected!("sse4.1");
        let vaes = aes && is_x86_feature_detected!("vaes");
        let available = |path: AesPath, simd| path.is_available(simd);
        for simd in [SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512] {
            assert!(available(AesPath::Portable, simd));
            assert_eq!(available(AesPath::AesNi, simd), aes);
            assert_eq!(available(AesPath::Vaes256, simd), vaes && simd != SimdLevel::Portable);
            assert_eq!(available(AesPath::Vaes512, simd), vaes && simd == SimdLevel::Avx512);
        }
    }
}
