//! Factorisation steps: the ops of a truncated singular value decomposition besides GEMM.
//!
//! Decisions, such as how many columns are independent, are data of the device, so that nothing
//! waits for the host. "Small" matrices have at most
//! [`MAX_SIDE`](core_types::params::factor::MAX_SIDE) rows and columns and are f64.

mod chol_inverse;
mod complete_columns;
mod jacobi_eigen;
mod matrix_peak;
mod orient_columns;
mod scale_columns;
mod shape;
mod sign_sketch;
mod tall_gram;
mod tall_product;

pub use chol_inverse::CholInverse;
pub use complete_columns::CompleteColumns;
pub use jacobi_eigen::JacobiEigen;
pub use matrix_peak::MatrixPeak;
pub use orient_columns::OrientColumns;
pub use scale_columns::ScaleColumns;
pub use sign_sketch::SignSketch;
pub use tall_gram::TallGram;
pub use tall_product::TallProduct;

pub use super::sets::FactorOps;
