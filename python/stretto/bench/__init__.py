"""`stretto bench ring|matrix|jacobi|cg`: small MPI programs, each with its model beside its measurement (docs/command.md)."""
