//! Compiles the program again when a migration was added: they are embedded.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
