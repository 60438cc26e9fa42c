//! A crate whose one dependency is `trefoil`.
//!
//! The examples of the README are its documentation.
#![doc = include_str!("../README.md")]
