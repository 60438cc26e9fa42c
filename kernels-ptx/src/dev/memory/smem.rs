//! Shared memory: one dynamic block per kernel.
//!
//! It is carved by a layout that is computed at compile time.

use core::{
    arch::{asm, global_asm},
    hint::assert_unchecked,
    marker::PhantomData,
};

use crate::dev::intrinsics as llvm;

global_asm!(".extern .shared .align 16 .b8 dyn_smem[];");

/// Bytes carved so far.
///
/// ```text
/// const A: Region<u32> = Layout::new().array(256);
/// const B: Region<U4> = A.end().array(64);
/// const BYTES: u32 = B.end().bytes();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    bytes: u32,
}

/// Place of an array in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Region<T> {
    offset: u32,
    len: u32,
    element: PhantomData<T>,
}

impl Layout {
    /// Nothing carved.
    pub const fn new() -> Self {
        Self { bytes: 0 }
    }

    /// The next `len` elements, at an address aligned to 16 bytes.
    pub const fn array<T>(self, len: u32) -> Region<T> {
        assert!(align_of::<T>() <= 16);
        Region { offset: self.bytes.next_multiple_of(16), len, element: PhantomData }
    }

    /// Bytes of dynamic shared memory that the kernel needs.
    pub const fn bytes(self) -> u32 {
        self.bytes
    }
}

impl<T> Region<T> {
    /// What follows this array.
    pub const fn end(self) -> Layout {
        Layout { bytes: self.offset + self.len * size_of::<T>() as u32 }
    }

    /// The array in this block's shared memory.
    ///
    /// # Safety
    /// The launch gives the block at least `self.end().bytes()` bytes; two threads touch an element
    /// only with a barrier between them unless both read.
    #[inline(always)]
    pub unsafe fn slice(self) -> SharedSlice<T> {
        SharedSlice::at(SharedAddr::dynamic().offset(self.offset))
    }
}

/// A 32-bit address in shared memory, as `cp.async` and `ldmatrix` take it.
#[derive(Clone, Copy, Debug)]
pub struct SharedAddr(pub u32);

impl SharedAddr {
    /// The first byte of the dynamic block.
    #[inline(always)]
    pub fn dynamic() -> Self {
        let address;
        // SAFETY: reads the address of a symbol that this file declares.
        unsafe { asm!("mov.b32 {}, dyn_smem;", out(reg32) address, options(pure, nomem, nostack, preserves_flags)) };
        Self(address)
    }

    /// The address `bytes` further.
    #[inline(always)]
    pub fn offset(self, bytes: u32) -> Self {
        Self(self.0 + bytes)
    }

    /// The generic address.
    ///
    /// It is computed as the window's base plus this address: the compiler infers the space of a
    /// pointer from its computation, and does not look into assembly.
    #[inline(always)]
    fn generic<T>(self) -> *mut T {
        let window: *mut u8;
        // SAFETY: address arithmetic; the sum lies in the window of shared memory, which the assumption states.
        unsafe {
            asm!("cvta.shared.u64 {}, {};", out(reg64) window, in(reg64) 0_u64, options(pure, nomem, nostack, preserves_flags));
            let pointer = window.add(self.0 as usize);
            assert_unchecked(llvm::isspacep_shared(pointer));
            pointer.cast()
        }
    }

    /// Reads a word.
    ///
    /// Unlike a read through a pointer it never merges with a read of global memory in another
    /// branch.
    ///
    /// # Safety
    /// The word lies in the block's shared memory, and a barrier lies between its writes and this
    /// read.
    #[inline(always)]
    pub unsafe fn load(self) -> u32 {
        let word;
        asm!("ld.shared.b32 {}, [{}];", out(reg32) word, in(reg32) self.0, options(readonly, nostack, preserves_flags));
        word
    }

    /// Writes a word; see [`load`](Self::load).
    ///
    /// # Safety
    /// The word lies in the block's shared memory, and no other thread touches it before a barrier.
    #[inline(always)]
    pub unsafe fn store(self, word: u32) {
        asm!("st.shared.b32 [{}], {};", in(reg32) self.0, in(reg32) word, options(nostack, preserves_flags));
    }
}

/// An array in shared memory. Indices are not checked.
#[derive(Clone, Copy, Debug)]
pub struct SharedSlice<T> {
    base: *mut T,
    address: SharedAddr,
}

impl<T> SharedSlice<T> {
    /// The elements from `address` on.
    ///
    /// # Safety
    /// See [`Region::slice`]; `address` is aligned for `T`.
    #[inline(always)]
    pub unsafe fn at(address: SharedAddr) -> Self {
        Self { base: address.generic(), address }
    }

    /// Pointer to element `index`.
    ///
    /// # Safety
    /// `index` lies in the array.
    #[inline(always)]
    pub unsafe fn ptr(self, index: u32) -> *mut T {
        self.base.add(index as usize)
    }

    /// Address of element `index`.
    #[inline(always)]
    pub fn addr(self, index: u32) -> SharedAddr {
        self.address.offset(index * size_of::<T>() as u32)
    }
}

impl<T: Copy> SharedSlice<T> {
    /// Element `index`.
    ///
    /// # Safety
    /// `index` lies in the array, and a barrier lies between the element's writes and this read.
    #[inline(always)]
    pub unsafe fn get(self, index: u32) -> T {
        *self.ptr(index)
    }

    /// Sets element `index`.
    ///
    /// # Safety
    /// `index` lies in the array, and no other thread touches the element before a barrier.
    #[inline(always)]
    pub unsafe fn set(self, index: u32, value: T) {
        *self.ptr(index) = value;
    }
}
