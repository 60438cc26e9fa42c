//! The element types: f32, binary16 and bfloat16.
//!
//! Every sum and function is computed in f32 and rounded once.
//!
//! # Safety
//! Pointers are global, valid for the elements named, and aligned to four elements where a method
//! moves four.

use crate::dev::{
    memory::gmem::{F4, U2},
    numeric::half::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, pack_bf16, pack_f16},
};

/// An element of a tensor.
pub trait Real: Copy {
    /// The least finite element.
    const LOWEST: f32;

    /// The exact value.
    fn widen(self) -> f32;

    /// The nearest element, ties to even.
    fn narrow(x: f32) -> Self;

    /// Four elements in one access.
    unsafe fn load4(x: *const Self) -> [f32; 4];

    /// Writes four elements in one access.
    unsafe fn store4(y: *mut Self, values: [f32; 4]);

    /// Writes two elements in one access, if the pointer is aligned to two elements, else in two.
    unsafe fn store2(y: *mut Self, values: [f32; 2]);
}

/// IEEE 754 binary16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F16(u16);

/// The upper half of binary32.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Bf16(u16);

impl Real for f32 {
    const LOWEST: f32 = f32::MIN;

    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }

    #[inline(always)]
    fn narrow(x: f32) -> Self {
        x
    }

    #[inline(always)]
    unsafe fn load4(x: *const Self) -> [f32; 4] {
        (*x.cast::<F4>()).0
    }

    #[inline(always)]
    unsafe fn store4(y: *mut Self, values: [f32; 4]) {
        *y.cast::<F4>() = F4(values);
    }

    #[inline(always)]
    unsafe fn store2(y: *mut Self, [a, b]: [f32; 2]) {
        *y = a;
        *y.add(1) = b;
    }
}

macro_rules! sixteen_bits {
    ($name:ident, $lowest:expr, $widen:ident, $narrow:ident, $pack:ident) => {
        impl Real for $name {
            const LOWEST: f32 = $lowest;

            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.0)
            }

            #[inline(always)]
            fn narrow(x: f32) -> Self {
                Self($narrow(x))
            }

            #[inline(always)]
            unsafe fn load4(x: *const Self) -> [f32; 4] {
                let U2([low, high]) = *x.cast::<U2>();
                [$widen(low as u16), $widen((low >> 16) as u16), $widen(high as u16), $widen((high >> 16) as u16)]
            }

            #[inline(always)]
            unsafe fn store4(y: *mut Self, [a, b, c, d]: [f32; 4]) {
                *y.cast::<U2>() = U2([$pack(a, b), $pack(c, d)]);
            }

            #[inline(always)]
            unsafe fn store2(y: *mut Self, [a, b]: [f32; 2]) {
                if y.addr() % 4 == 0 {
                    *y.cast::<u32>() = $pack(a, b);
                } else {
                    *y = Self::narrow(a);
                    *y.add(1) = Self::narrow(b);
                }
            }
        }
    };
}

sixteen_bits!(F16, -65504.0, f16_to_f32, f32_to_f16, pack_f16);
sixteen_bits!(Bf16, f32::from_bits(0xff7f_0000), bf16_to_f32, f32_to_bf16, pack_bf16);

/// Whether four elements from `x` on may move in one access.
#[inline(always)]
pub fn aligned4<T>(x: *const T) -> bool {
    x.addr() % (4 * size_of::<T>()) == 0
}
