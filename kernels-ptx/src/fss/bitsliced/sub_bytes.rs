//! SubBytes as 73 gates of three inputs.
//!
//! `core_types::bitsliced::sub_bytes` has 113 gates of two inputs. This circuit came from it by
//! mapping to gates of three inputs, which the processor has, and restructuring in many random
//! orders; it was compared with SubBytes on all 256 bytes.

use core::arch::asm;

/// The gate whose output for the inputs `a`, `b`, `c` is bit `4 a + 2 b + c` of `TABLE`.
#[inline(always)]
fn lop3<const TABLE: u32>(a: u32, b: u32, c: u32) -> u32 {
    let out;
    // SAFETY: logic on registers.
    unsafe {
        asm!(
            "lop3.b32 {}, {}, {}, {}, {};",
            out(reg32) out, in(reg32) a, in(reg32) b, in(reg32) c, const TABLE,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    out
}

/// SubBytes of 32 bytes by planes, bit 0 first.
#[inline(always)]
pub(super) fn sub_bytes([x7, x6, x5, x4, x3, x2, x1, x0]: [u32; 8]) -> [u32; 8] {
    let g1 = lop3::<0x3c>(x6, x0, x0);
    let g2 = lop3::<0x3c>(x5, x3, x3);
    let g3 = lop3::<0x69>(x7, x2, x1);
    let g4 = lop3::<0x3c>(x0, x5, x5);
    let g5 = lop3::<0x90>(x7, x3, g3);
    let g6 = lop3::<0x3c>(x0, g3, g3);
    let g7 = lop3::<0x3c>(g2, g1, g1);
    let g8 = lop3::<0x69>(x4, x5, g7);
    let g9 = lop3::<0x69>(x6, g4, g3);
    let g10 = lop3::<0x30>(g7, g8, g8);
    let g11 = lop3::<0x69>(x4, x1, g7);
    let g12 = lop3::<0x69>(x2, x1, g8);
    let g13 = lop3::<0x60>(g11, x0, x3);
    let g14 = lop3::<0x90>(g9, x7, g8);
    let g15 = lop3::<0x69>(g5, g10, g13);
    let g16 = lop3::<0x78>(g13, g4, g12);
    let g17 = lop3::<0x96>(x0, x3, g11);
    let g18 = lop3::<0x69>(x2, x1, g17);
    let g19 = lop3::<0xe1>(g15, g4, g12);
    let g20 = lop3::<0xc0>(g1, g18, g18);
    let g21 = lop3::<0x41>(x7, g17, g6);
    let g22 = lop3::<0x90>(g2, g12, g17);
    let g23 = lop3::<0x69>(g16, g21, g20);
    let g24 = lop3::<0x3c>(g13, g22, g22);
    let g25 = lop3::<0x69>(g10, g14, g24);
    let g26 = lop3::<0x69>(x0, g18, g23);
    let g27 = lop3::<0xe1>(g24, x6, g3);
    let g28 = lop3::<0xc3>(g11, g25, g25);
    let g29 = lop3::<0x0b>(g19, g26, g28);
    let g30 = lop3::<0x1e>(g27, g1, g18);
    let g31 = lop3::<0x07>(g30, g26, g19);
    let g32 = lop3::<0xe1>(g29, g28, g30);
    let g33 = lop3::<0x41>(x6, g3, g32);
    let g34 = lop3::<0x30>(g30, g28, g28);
    let g35 = lop3::<0x07>(g31, g34, g26);
    let g36 = lop3::<0x3c>(g26, g34, g34);
    let g37 = lop3::<0x30>(g35, g8, g8);
    let g38 = lop3::<0xc3>(g19, g34, g34);
    let g39 = lop3::<0x3a>(g36, g28, g19);
    let g40 = lop3::<0x90>(g18, g32, g39);
    let g41 = lop3::<0x90>(g39, x7, g17);
    let g42 = lop3::<0x90>(g1, g32, g39);
    let g43 = lop3::<0x35>(g38, g26, g30);
    let g44 = lop3::<0x3c>(g39, g43, g43);
    let g45 = lop3::<0x14>(x0, x3, g44);
    let g46 = lop3::<0xe1>(g40, g3, g32);
    let g47 = lop3::<0xb4>(g37, x7, g43);
    let g48 = lop3::<0x41>(x3, g3, g43);
    let g49 = lop3::<0x3c>(g35, g43, g43);
    let g50 = lop3::<0x41>(x7, g8, g49);
    let g51 = lop3::<0x69>(g41, g47, g40);
    let g52 = lop3::<0xc3>(g32, g49, g49);
    let g53 = lop3::<0xb4>(g42, g12, g52);
    let g54 = lop3::<0x4b>(g45, g4, g52);
    let g55 = lop3::<0xc3>(g44, g52, g52);
    let g56 = lop3::<0x41>(g12, g17, g55);
    let g57 = lop3::<0xb4>(g45, g2, g55);
    let g58 = lop3::<0x3c>(g46, g56, g56);
    let g59 = lop3::<0x96>(g47, g53, g58);
    let g60 = lop3::<0x69>(g33, g51, g57);
    let g61 = lop3::<0xc3>(g42, g60, g60);
    let g62 = lop3::<0xb4>(g57, g9, g49);
    let g63 = lop3::<0xe1>(g58, g17, g44);
    let g64 = lop3::<0x4b>(g59, g39, g6);
    let g65 = lop3::<0x69>(g48, g62, g64);
    let g66 = lop3::<0xc3>(g60, g59, g59);
    let g67 = lop3::<0x87>(g62, g7, g35);
    let g68 = lop3::<0xc3>(g63, g67, g67);
    let g69 = lop3::<0x69>(g54, g63, g64);
    let g70 = lop3::<0x96>(g50, g46, g67);
    let g71 = lop3::<0xc3>(g37, g70, g70);
    let g72 = lop3::<0xc3>(g63, g71, g71);
    let g73 = lop3::<0xc3>(g51, g71, g71);
    [g61, g66, g65, g73, g71, g69, g72, g68]
}
