module.exports = {
  testEnvironment: 'jsdom',
  testRegex: '\\.spec\\.tsx?$',
  roots: ['<rootDir>/src', '<rootDir>/widgets/src'],
  transform: { '^.+\\.tsx?$': ['ts-jest', { tsconfig: 'tsconfig.test.json' }] }
};
