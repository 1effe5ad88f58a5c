! A program that knows nothing of stretto, in Fortran's three ways to MPI: mpif.h, the module mpi (-DMODULE) and the module mpi_f08 (-DF08).
! It checks what it gets, in place and apart, with and without ierror where that may be left out, and makes a known number of calls.
program calls
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
#ifdef F08
  use mpi_f08
#endif
#ifdef MODULE
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
#ifdef F08
  type(MPI_Comm) :: comm
  type(MPI_Request) :: request, both(2)
  type(MPI_Status) :: status
#else
  integer :: comm, request, both(2), status(MPI_STATUS_SIZE)
#endif
  logical :: done
  integer, parameter :: n = 5000
  double precision :: x(n), y(n)
  real :: z(n)
  integer :: rank, ranks, ierr, again, i, lacks
  integer, allocatable :: got(:)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  type(c_ptr) :: address
  double precision, pointer :: given(:)

  call MPI_Init(ierr)
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)
  allocate (got(ranks))
  bytes = 20*8*n  ! as much as stretto's memory is given for
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, address, ierr)
  call check(ierr == MPI_SUCCESS, 'alloc_mem: ierror')
  call c_f_pointer(address, given, [20*n])
  both = MPI_REQUEST_NULL
  call MPI_Ibarrier(comm, both(1), ierr)
  call MPI_Waitany(2, both, i, MPI_STATUS_IGNORE, ierr)
  lacks = 1 - i  ! 1 by the module mpi_f08 of MPICH 4.0, which counts from 0
  do again = 1, 10
    x = [(dble(rank + mod(i, 13)), i=1, n)]
    call MPI_Allreduce(x, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    call check(ierr == MPI_SUCCESS, 'allreduce: ierror')
    call check(all_equal(y), 'allreduce')
    call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    call check(all_equal(x), 'allreduce in place')
    given(1:n) = [(dble(rank + mod(i, 13)), i=1, n)]
    call MPI_Allreduce(given, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    call check(all_equal(y), 'allreduce of memory of MPI_Alloc_mem')
    z = real(rank)
    call MPI_Bcast(z, n, MPI_REAL, ranks - 1, comm, ierr)
    call check(maxval(abs(z - (ranks - 1))) == 0, 'bcast')
    got = -1
#ifdef F08
    call MPI_Allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, comm)
    call MPI_Barrier(comm)
#else
    call MPI_Allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, comm, ierr)
    call MPI_Barrier(comm, ierr)
#endif
    call check(maxval(abs(got - [(i, i=0, ranks - 1)])) == 0, 'allgather')
    call MPI_Scan(rank, i, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
    call check(i == rank*(rank + 1)/2, 'scan')
    call MPI_Ibarrier(comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    y = 0
    call MPI_Iallreduce(given, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, both(2), ierr)
    call MPI_Ibarrier(comm, both(1), ierr)
    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr)
    call check(ierr == MPI_SUCCESS .and. all_equal(y), 'waitall')
    y = 0
    call MPI_Iallreduce(given, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, both(2), ierr)
    call MPI_Waitany(2, both, i, status, ierr)
    call check((i == 2 .or. i == 2 - lacks) .and. all_equal(y), 'waitany')
    call MPI_Waitany(2, both, i, status, ierr)
    call check(no_index(i), 'waitany of none')
    y = 0
    call MPI_Iallreduce(given, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, both(1), ierr)
    done = .false.
    do while (.not. done)
      call MPI_Test(both(1), done, status, ierr)
    end do
    call check(both(1) == MPI_REQUEST_NULL .and. all_equal(y), 'test')
  end do
  call MPI_Free_mem(given, ierr)
  call check(ierr == MPI_SUCCESS, 'free_mem: ierror')
  if (rank == 0) print '(a,i0)', 'ok ', ranks
  call MPI_Finalize(ierr)

contains

  logical function all_equal(sum)
    double precision, intent(in) :: sum(n)
    integer :: k
    all_equal = all([(sum(k) == dble(ranks*(ranks - 1)/2 + ranks*mod(k, 13)), k=1, n)])
  end function

  ! MPICH 4.0 counts MPI_UNDEFINED from 1 on as it does indices, but for the module mpi_f08.
  logical function no_index(at)
    integer, intent(in) :: at
    no_index = at == MPI_UNDEFINED .or. at == MPI_UNDEFINED + 1
  end function

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print '(a,i0,2a)', 'rank ', rank, ': wrong ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

end program
