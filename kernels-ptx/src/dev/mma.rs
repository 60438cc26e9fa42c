//! Matrix fragments of a warp.
//!
//! All 32 lanes call, in uniform control flow. The assembly is not `pure`, so it stays where it
//! stands, and the build's lint checks that control flow is uniform there.

use core::arch::asm;

use super::memory::smem::SharedAddr;

macro_rules! mma {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Lane `4 g + t` holds rows `g`, `g + 8` and columns `2 t`, `2 t + 1` of `c`; two 16-bit
        /// elements per word of `a` and `b`, in the order of the PTX manual.
        ///
        /// # Safety
        /// All lanes of the warp call together.
        #[inline(always)]
        pub unsafe fn $name(c: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
            let [c0, c1, c2, c3] = *c;
            let (d0, d1, d2, d3): (f32, f32, f32, f32);
            asm!(
                concat!(
                    "mma.sync.aligned.m16n8k16.row.col.f32.", $kind, ".", $kind,
                    ".f32 {{{}, {}, {}, {}}}, {{{}, {}, {}, {}}}, {{{}, {}}}, {{{}, {}, {}, {}}};"
                ),
                out(reg32) d0, out(reg32) d1, out(reg32) d2, out(reg32) d3,
                in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
                in(reg32) b[0], in(reg32) b[1],
                in(reg32) c0, in(reg32) c1, in(reg32) c2, in(reg32) c3,
                options(nomem, nostack, preserves_flags)
            );
            *c = [d0, d1, d2, d3];
        }
    )*};
}

mma! {
    /// `c += a * b` for 16 x 16 by 16 x 8 bfloat16, in single precision.
    mma_m16n8k16_bf16 = "bf16";
    /// `c += a * b` for 16 x 16 by 16 x 8 binary16, in single precision.
    mma_m16n8k16_f16 = "f16";
}

macro_rules! ldmatrix_x4 {
    ($($(#[$doc:meta])* $name:ident = $form:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// All lanes of the warp call together; `row` is aligned to 16 bytes, and a barrier lies
        /// between its writes and this read.
        #[inline(always)]
        pub unsafe fn $name(row: SharedAddr) -> [u32; 4] {
            let (a, b, c, d);
            asm!(
                concat!("ldmatrix.sync.aligned.m8n8.x4", $form, ".shared.b16 {{{}, {}, {}, {}}}, [{}];"),
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) row.0,
                options(readonly, nostack, preserves_flags)
            );
            [a, b, c, d]
        }
    )*};
}

ldmatrix_x4! {
    /// Four 8 x 8 matrices of 16-bit elements; lane `8 i + r` names row `r` of matrix `i`.
    ldmatrix_x4 = "";
    /// [`ldmatrix_x4`], each matrix transposed.
    ldmatrix_x4_trans = ".trans";
}
