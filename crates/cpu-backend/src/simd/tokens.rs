//! Proofs that instructions may be used, and the functions compiled for them.
//!
//! # Safety
//! Implementations of [`CompiledKernel::run_compiled`] require a processor with the instructions of
//! their token.

use super::Simd;
#[cfg(target_arch = "x86_64")]
use super::{AesPath, SimdLevel};

/// A computation over the lanes `L`, written once for all of them.
///
/// It is implemented by `impl<L: Floats> LaneKernel<L> for ..`.
pub(crate) trait LaneKernel<L> {
    /// Its result.
    type Out;
    /// Runs it; implementations are `#[inline(always)]`.
    fn run(self, lanes: L) -> Self::Out;
}

/// Plain Rust on any processor.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// A proof that some instructions may be used.
pub(crate) trait Token: Copy {
    /// Runs a kernel as a function, which is compiled once for the instructions of the token.
    ///
    /// Kernels that several others contain, and that run long, are called: inlined into each of the
    /// others, they would be compiled as often.
    fn call<K: LaneKernel<Self>>(self, kernel: K) -> K::Out;

    /// Runs a part that a kernel contains many times, of some tens of instructions.
    ///
    /// The compiler simplifies the part once and normally inlines the result. Plain functions are
    /// not compiled for the instructions of the token, so they can only be simplified after they
    /// were inlined, in each place again.
    fn inline<K: LaneKernel<Self>>(self, part: K) -> K::Out;
}

/// Makes a type a token of no instructions, for models in tests.
#[cfg(all(test, target_arch = "x86_64"))]
macro_rules! plain_token {
    ($token:ident) => {
        impl $crate::simd::Token for $token {
            fn call<K: $crate::simd::LaneKernel<Self>>(self, kernel: K) -> K::Out {
                kernel.run(self)
            }

            fn inline<K: $crate::simd::LaneKernel<Self>>(self, part: K) -> K::Out {
                part.run(self)
            }
        }
    };
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use plain_token;

impl Token for Portable {
    #[inline(always)]
    fn call<K: LaneKernel<Self>>(self, kernel: K) -> K::Out {
        // SAFETY: every processor has the instructions of the baseline.
        unsafe { CompiledKernel::<Self>::run_compiled(kernel) }
    }

    #[inline(always)]
    fn inline<K: LaneKernel<Self>>(self, part: K) -> K::Out {
        // SAFETY: every processor has the instructions of the baseline.
        unsafe { CompiledKernel::<Self>::run_inlined(part) }
    }
}

/// A kernel compiled for the instructions of the token `L`.
///
/// This is a method of the kernel, so that rustc compiles it in the codegen unit of the kernel's
/// module. As a function of the token all kernels would be in one unit, which is compiled on one
/// thread.
trait CompiledKernel<L>: LaneKernel<L> {
    /// Runs the kernel.
    ///
    /// It is never inlined: kernels with several callers are compiled once.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn run_compiled(self) -> Self::Out;

    /// Runs a part of a kernel.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn run_inlined(self) -> Self::Out;
}

impl<K: LaneKernel<Portable>> CompiledKernel<Portable> for K {
    #[inline(never)]
    unsafe fn run_compiled(self) -> K::Out {
        self.run(Portable)
    }

    #[inline]
    unsafe fn run_inlined(self) -> K::Out {
        self.run(Portable)
    }
}

/// Declares tokens and the instructions that they prove.
#[cfg(target_arch = "x86_64")]
macro_rules! tokens {
    ($($(#[$doc:meta])* $token:ident: $features:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $token(());

        impl Token for $token {
            #[inline(always)]
            fn call<K: LaneKernel<Self>>(self, kernel: K) -> K::Out {
                // SAFETY: `self` proves the instructions.
                unsafe { CompiledKernel::<Self>::run_compiled(kernel) }
            }

            #[inline(always)]
            fn inline<K: LaneKernel<Self>>(self, part: K) -> K::Out {
                // SAFETY: `self` proves the instructions.
                unsafe { CompiledKernel::<Self>::run_inlined(part) }
            }
        }

        impl<K: LaneKernel<$token>> CompiledKernel<$token> for K {
            #[inline(never)]
            #[target_feature(enable = $features)]
            unsafe fn run_compiled(self) -> K::Out {
                self.run($token(()))
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn run_inlined(self) -> K::Out {
                self.run($token(()))
            }
        }
    )* };
}

#[cfg(target_arch = "x86_64")]
tokens! {
    /// Proof that AVX2, FMA and F16C may be used.
    Avx2: "avx2,fma,f16c";
    /// Proof that AVX-512 F, BW, DQ and VL may be used, and what [`Avx2`] proves.
    Avx512: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    /// Proof that AVX-512 BF16 may be used, and what [`Avx512`] proves.
    Avx512Bf16: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512bf16";
    /// Proof that AES-NI and SSE4.1 may be used.
    AesNi: "aes,sse4.1";
    /// Proof that VAES and AVX2 may be used.
    Vaes256: "aes,avx2,vaes";
    /// Proof that VAES, AVX-512 F and BW may be used.
    Vaes512: "aes,avx512f,avx512bw,vaes";
}

/// Methods of a token whose operands and result are vectors, each with its intrinsic.
#[cfg(target_arch = "x86_64")]
macro_rules! instructions {
    ($vector:ty: $($method:ident($($operand:ident),+) = $intrinsic:path;)+) => { $(
        #[inline(always)]
        fn $method(self, $($operand: $vector),+) -> $vector {
            // SAFETY: `self` proves the instructions of its vectors.
            unsafe { $intrinsic($($operand),+) }
        }
    )+ };
}

/// Methods of a token that shift vectors by a count, each with its intrinsic.
#[cfg(target_arch = "x86_64")]
macro_rules! shifts {
    ($vector:ty: $($method:ident = $intrinsic:path;)+) => { $(
        #[inline(always)]
        fn $method(self, a: $vector, count: u32) -> $vector {
            // SAFETY: `self` proves the instructions of its vectors.
            unsafe { $intrinsic(a, core::arch::x86_64::_mm_cvtsi32_si128(count as i32)) }
        }
    )+ };
}

/// The methods `load` and `store` of a token: a vector at the beginning of a slice.
#[cfg(target_arch = "x86_64")]
macro_rules! memory {
    ($vector:ty, [$element:ty]: $load:path, $store:path) => {
        #[inline(always)]
        fn load(self, s: &[$element]) -> $vector {
            let s = &s[..Self::N];
            // SAFETY: `self` proves the instructions; `s` holds a vector, and no alignment is needed.
            unsafe { $load(s.as_ptr().cast()) }
        }

        #[inline(always)]
        fn store(self, s: &mut [$element], v: $vector) {
            let s = &mut s[..Self::N];
            // SAFETY: `self` proves the instructions; `s` holds a vector, and no alignment is needed.
            unsafe { $store(s.as_mut_ptr().cast(), v) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(crate) use {instructions, memory, shifts};

#[cfg(target_arch = "x86_64")]
impl Avx512Bf16 {
    /// The AVX-512 token, which this one implies.
    #[inline(always)]
    pub(crate) fn avx512(self) -> Avx512 {
        Avx512(())
    }
}

/// Names the kernels that run with every token of a list: the first is for any processor.
macro_rules! kernels_of {
    ($($(#[$doc:meta])* $name:ident: $first:ident, $($token:ident),+;)*) => { $(
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        pub(crate) trait $name<R>: LaneKernel<$first, Out = R> $(+ LaneKernel<$token, Out = R>)+ {}

        #[cfg(target_arch = "x86_64")]
        impl<R, K: LaneKernel<$first, Out = R> $(+ LaneKernel<$token, Out = R>)+> $name<R> for K {}

        $(#[$doc])*
        #[cfg(not(target_arch = "x86_64"))]
        pub(crate) trait $name<R>: LaneKernel<$first, Out = R> {}

        #[cfg(not(target_arch = "x86_64"))]
        impl<R, K: LaneKernel<$first, Out = R>> $name<R> for K {}
    )* };
}

kernels_of! {
    /// Kernels for every vector level.
    ForEveryLevel: Portable, Avx2, Avx512;
    /// Kernels with and without instructions for pairs of bf16.
    ForPairs: Portable, Avx512Bf16;
    /// Kernels for every AES path.
    ForEveryAesPath: Portable, AesNi, Vaes256, Vaes512;
}

/// Runs `kernel` at the vector level of `simd`.
pub(crate) fn dispatch<R, K: ForEveryLevel<R>>(simd: Simd, kernel: K) -> R {
    match simd.level() {
        // SAFETY: a `Simd` of this level exists only where the processor has the features the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => unsafe { CompiledKernel::<Avx512>::run_compiled(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => unsafe { CompiledKernel::<Avx2>::run_compiled(kernel) },
        // SAFETY: every processor has the instructions of the baseline.
        _ => unsafe { CompiledKernel::<Portable>::run_compiled(kernel) },
    }
}

/// Runs `kernel` with the instructions for pairs of bf16 if `simd` has them.
pub(crate) fn dispatch_pairs<R, K: ForPairs<R>>(simd: Simd, kernel: K) -> R {
    #[cfg(target_arch = "x86_64")]
    if simd.bf16() {
        // SAFETY: such a `Simd` exists only where the processor has the features the function is compiled for.
        return unsafe { CompiledKernel::<Avx512Bf16>::run_compiled(kernel) };
    }
    // SAFETY: every processor has the instructions of the baseline.
    unsafe { CompiledKernel::<Portable>::run_compiled(kernel) }
}

/// Runs `kernel` on the AES path of `simd`.
pub(crate) fn dispatch_aes<R, K: ForEveryAesPath<R>>(simd: Simd, kernel: K) -> R {
    match simd.aes() {
        // SAFETY: a `Simd` with this path exists only where the processor has the features the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        AesPath::AesNi => unsafe { CompiledKernel::<AesNi>::run_compiled(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        AesPath::Vaes256 => unsafe { CompiledKernel::<Vaes256>::run_compiled(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        AesPath::Vaes512 => unsafe { CompiledKernel::<Vaes512>::run_compiled(kernel) },
        // SAFETY: every processor has the instructions of the baseline.
        _ => unsafe { CompiledKernel::<Portable>::run_compiled(kernel) },
    }
}
