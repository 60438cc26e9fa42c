//! Devices, contexts, access of devices to each other, and NCCL.

mod attributes;
mod contexts;
mod nccl;
mod peers;
