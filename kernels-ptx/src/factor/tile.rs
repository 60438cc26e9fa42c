//! Products of tiles of 32 x 32 in f64, which 256 threads compute, four elements each.

use crate::dev::{
    idx,
    memory::smem::{Layout, Region, SharedSlice},
    unroll::unroll,
};

/// Rows, columns and depth of a tile.
pub const SIZE: u32 = 32;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Doubles from line to line, so that neither direction meets bank conflicts.
const PITCH: u32 = SIZE + 1;

const A: Region<f64> = Layout::new().array(SIZE * PITCH);
const B: Region<f64> = A.end().array(SIZE * PITCH);
/// Shared memory of a block.
pub const BYTES: u32 = B.end().bytes();

/// The two factors in shared memory: element k of line i is at `k PITCH + i`.
pub struct Tiles {
    /// Lines are rows of the product.
    pub a: SharedSlice<f64>,
    /// Lines are columns of the product.
    pub b: SharedSlice<f64>,
}

/// The elements of the product that a thread has: rows r and r + 16, columns c and c + 16.
#[derive(Clone, Copy)]
pub struct Sums(pub [[f64; 2]; 2]);

/// Row and column of the first element that this thread has.
#[inline(always)]
pub fn place() -> (u32, u32) {
    (idx::tid_x() / 16, idx::tid_x() % 16)
}

impl Tiles {
    /// The tiles of the block.
    ///
    /// # Safety
    /// The launch gives the block [`BYTES`].
    #[inline(always)]
    pub unsafe fn own() -> Self {
        Self { a: A.slice(), b: B.slice() }
    }

    /// Writes a factor, `element(k, i)` for each.
    ///
    /// Neighbouring threads write at neighbouring i if `along_lines`, else at neighbouring k.
    ///
    /// # Safety
    /// A barrier lies between this and any other use of the factor.
    #[inline(always)]
    pub unsafe fn fill(to: SharedSlice<f64>, along_lines: bool, element: impl Fn(u32, u32) -> f64) {
        let (fast, mut slow) = (idx::tid_x() % SIZE, idx::tid_x() / SIZE);
        while slow < SIZE {
            let (k, i) = if along_lines { (slow, fast) } else { (fast, slow) };
            to.set(k * PITCH + i, element(k, i));
            slow += THREADS / SIZE;
        }
    }

    /// Adds the product to `sums`.
    ///
    /// # Safety
    /// A barrier lies between the writes of the factors and this.
    #[inline(always)]
    pub unsafe fn multiply(&self, sums: &mut Sums) {
        let (row, col) = place();
        let mut k = 0;
        while k < SIZE {
            let x = [self.a.get(k * PITCH + row), self.a.get(k * PITCH + row + 16)];
            let y = [self.b.get(k * PITCH + col), self.b.get(k * PITCH + col + 16)];
            unroll!(I in 0..2 => {
                let (i, x) = (I as usize, x[I as usize]);
                sums.0[i][0] += x * y[0];
                sums.0[i][1] += x * y[1];
            });
            k += 1;
        }
    }
}
