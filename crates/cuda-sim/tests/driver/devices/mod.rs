//! Devices, contexts, access of devices to each other, and NCCL.

mod contexts;
mod nccl;
mod peers;
