//! AIRs, and the field tower against wide-integer models.

mod air;
mod field_models;
