//! The shape of a batch of matrix products, and of its gradients.

/// The shape of a batch of products `C = op(A) op(B)`.
///
/// op(A) is `[m, k]`, op(B) is `[k, n]` and C is `[m, n]`. A matrix is stored row-major in that
/// shape, or as its transpose if its flag is set. The matrices of a batch follow one another.
///
/// ```
/// use nn_dispatch::Product;
///
/// let scores = Product { batch: 4, ..Product::new(16, 8, 16).transposed_b() }; // Q K^T of four heads
/// assert!(scores.transpose_b && !scores.transpose_a);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Number of products.
    pub batch: usize,
    /// Rows of op(A) and C.
    pub m: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// Columns of op(B) and C.
    pub n: usize,
    /// Whether A is stored as `[k, m]`.
    pub transpose_a: bool,
    /// Whether B is stored as `[n, k]`.
    pub transpose_b: bool,
}

impl Product {
    /// One product of matrices that are not transposed.
    #[must_use]
    pub const fn new(m: usize, k: usize, n: usize) -> Self {
        Self { batch: 1, m, k, n, transpose_a: false, transpose_b: false }
    }

    /// The same product with B stored as `[n, k]`.
    #[must_use]
    pub const fn transposed_b(self) -> Self {
        Self { transpose_b: true, ..self }
    }

    /// The product that is the gradient of A as it is stored, and whether B is its left factor.
    ///
    /// The other factor is G, the gradient of C: `dA = G op(B)^T`, or `op(B) G^T` for a transposed
    /// A.
    pub(crate) const fn gradient_of_a(self) -> (Self, bool) {
        let Self { batch, m, k, n, transpose_a, transpose_b } = self;
        match transpose_a {
            false => (Self { batch, m, k: n, n: k, transpose_a: false, transpose_b: !transpose_b }, false),
            true => (Self { batch, m: k, k: n, n: m, transpose_a: transpose_b, transpose_b: true }, true),
        }
    }

    /// The product that is the gradient of B as it is stored, and whether A is its left factor.
    ///
    /// The other factor is G: `dB = op(A)^T G`, or `G^T op(A)` for a transposed B.
    pub(crate) const fn gradient_of_b(self) -> (Self, bool) {
        let Self { batch, m, k, n, transpose_a, transpose_b } = self;
        match transpose_b {
            false => (Self { batch, m: k, k: m, n, transpose_a: !transpose_a, transpose_b: false }, true),
            true => (Self { batch, m: n, k: m, n: k, transpose_a: true, transpose_b: transpose_a }, false),
        }
    }
}
