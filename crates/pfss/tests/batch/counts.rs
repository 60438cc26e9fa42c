//! How often one gate calls the driver of a device: exact numbers, so that none of them grows unseen.
