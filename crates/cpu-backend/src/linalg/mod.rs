//! Dense linear algebra and neural-network ops.

mod lanes;
mod vmath;
