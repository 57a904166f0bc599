"""The byte form of posts: `post.proto`, and the code generated from it by `make proto`."""
